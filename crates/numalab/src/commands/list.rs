//! `numalab list`: lists the experiments, and which cases of each this machine can run.

use experiment::{Cannot, Definition, Plan, SHIPPED, SkippedCase};
use report::TextOptions;
use serde_json::{Value, json};

use crate::arguments::commands::ListArguments;
use crate::failure::Failure;
use crate::measuring::context::Context;
use crate::output;

/// An experiment, as `numalab run` would plan it.
struct Listed {
    definition: Definition,
    plan: Result<Plan, Cannot>,
}

/// Lists the shipped experiments.
pub(crate) fn run(arguments: &ListArguments) -> Result<(), Failure> {
    let host = Context::live(arguments.last_level_cache)?.host;
    let mut all = Vec::new();
    for shipped in SHIPPED {
        let definition = shipped.definition()?;
        let plan = experiment::plan(&definition, &host);
        all.push(Listed { definition, plan });
    }
    if arguments.json {
        let documents: Vec<Value> = all.iter().map(document).collect();
        return output::json(
            &json!({ "format": "numalab.experiments/1", "experiments": documents }),
        );
    }
    output::data(&text(&all, &output::text_options()))
}

/// Renders the experiments that run here, those that cannot, and each hint once.
fn text(all: &[Listed], options: &TextOptions) -> String {
    let mut text = String::new();
    for (heading, runs) in [("Runs here", true), ("Cannot run here", false)] {
        let of_section = all.iter().filter(|it| it.plan.is_ok() == runs);
        let entries: String = of_section.map(|it| entry(it, options)).collect();
        if !entries.is_empty() {
            text.push_str(&format!("{heading}\n{entries}\n"));
        }
    }
    let hints = hints(all);
    if !hints.is_empty() {
        text.push_str("Hints\n");
        for (advice, names) in hints {
            let of = match &names[..] {
                [one, other, _, ..] => format!("{one}, {other} and {} more", names.len() - 2),
                few => few.join(", "),
            };
            text.push_str(&options.wrapped("  ", &format!("{of}:")));
            text.push_str(&options.wrapped("    ", &advice));
        }
        text.push('\n');
    }
    text.push_str("Run one with `numalab run NAME`, or your own with `numalab run FILE.toml`.\n");
    text
}

/// Renders the name of an experiment, its question, and what is missing for it.
fn entry(listed: &Listed, options: &TextOptions) -> String {
    let mut text = format!("  {}\n", listed.definition.name);
    text.push_str(&options.wrapped("    ", &listed.definition.question));
    if let Err(cannot) = &listed.plan {
        text.push_str(&options.wrapped("    skipped: ", &cannot.reason));
    }
    // Cases skipped for the same reason are adjacent in the files, or nearly so.
    let mut rest = skipped(&listed.plan);
    while let Some(SkippedCase { cannot, .. }) = rest.first().copied() {
        let (same, others): (Vec<&SkippedCase>, _) =
            rest.into_iter().partition(|it| it.cannot == *cannot);
        let names: Vec<&str> = same.iter().map(|it| it.case.as_str()).collect();
        let line = format!("{}: {}", names.join(", "), cannot.reason);
        text.push_str(&options.wrapped("    without ", &line));
        rest = others;
    }
    text
}

/// Returns each hint with the experiments it applies to, in their order. NAME replaces the name of
/// the experiment in a hint.
fn hints(all: &[Listed]) -> Vec<(String, Vec<String>)> {
    let mut hints: Vec<(String, Vec<String>)> = Vec::new();
    for Listed { definition, plan } in all {
        let of_cases = skipped(plan).into_iter().map(|it| &it.cannot);
        for cannot in plan.as_ref().err().into_iter().chain(of_cases) {
            let advice = cannot.advice.replace(&definition.name, "NAME");
            let name = &definition.name;
            match hints.iter_mut().find(|(known, _)| *known == advice) {
                _ if advice.is_empty() => {}
                Some((_, names)) if names.contains(name) => {}
                Some((_, names)) => names.push(name.clone()),
                None => hints.push((advice, vec![name.clone()])),
            }
        }
    }
    hints
}

fn skipped(plan: &Result<Plan, Cannot>) -> Vec<&SkippedCase> {
    let plans = plan.iter();
    plans.flat_map(|plan| &plan.skipped).collect()
}

fn document(Listed { definition, plan }: &Listed) -> Value {
    let advice = |cannot: &Cannot| {
        let advice = Some(cannot.advice.clone());
        advice.filter(|advice| !advice.is_empty())
    };
    let case = |skipped: &SkippedCase| {
        json!({
            "case": skipped.case,
            "reason": skipped.cannot.reason,
            "advice": advice(&skipped.cannot),
        })
    };
    let reason = plan.as_ref().err();
    json!({
        "name": definition.name,
        "question": definition.question,
        "runs_here": plan.is_ok(),
        "reason": reason.map(|cannot| &cannot.reason),
        "advice": reason.and_then(advice),
        "cases": definition.cases.len(),
        "skipped": skipped(plan).into_iter().map(case).collect::<Vec<_>>(),
    })
}
