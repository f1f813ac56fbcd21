//! `numalab list`: the experiments, and what of each this machine can run.

use std::fmt::Write;

use experiment::{Cannot, Definition, Plan, SHIPPED, SkippedCase};
use serde_json::{Value, json};

use crate::arguments::ListArguments;
use crate::failure::Failure;
use crate::{host, machine, output};

/// Lists the shipped experiments, each as `numalab run` would plan it.
pub fn run(arguments: &ListArguments) -> Result<(), Failure> {
    let machine = machine::record(arguments.last_level_cache)?;
    let host = host::of_this_process(&machine.topology)?;
    let mut text = String::new();
    let mut documents = Vec::new();
    for shipped in SHIPPED {
        let definition = shipped.definition()?;
        let plan = experiment::plan(&definition, &host);
        text.push_str(&paragraph(&definition, &plan));
        text.push('\n');
        documents.push(document(&definition, &plan));
    }
    text.push_str("numalab run NAME, or numalab run FILE.toml with an experiment of your own.\n");
    if arguments.json {
        return output::json(
            &json!({ "format": "numalab.experiments/1", "experiments": documents }),
        );
    }
    output::data(&text)
}

/// What is said of an experiment.
fn paragraph(definition: &Definition, plan: &Result<Plan, Cannot>) -> String {
    let skipped = skipped(plan);
    let all = definition.cases.len();
    let mark = match plan {
        Err(_) => "cannot run here".to_owned(),
        Ok(_) if skipped.is_empty() => "runs here".to_owned(),
        Ok(_) => format!("runs here, without {} of its {all} cases", skipped.len()),
    };
    let mut text = format!("{} ({mark})\n  {}\n", definition.name, definition.question);
    if let Err(cannot) = plan {
        why(&mut text, "why not", cannot);
    }
    // Cases that are skipped for one reason follow one another in the files, or nearly so.
    let mut rest = skipped;
    while let Some(SkippedCase { cannot, .. }) = rest.first().copied() {
        let (same, others): (Vec<&SkippedCase>, _) =
            rest.into_iter().partition(|it| it.cannot == *cannot);
        let names: Vec<&str> = same.iter().map(|it| it.case.as_str()).collect();
        why(&mut text, &format!("without {}", names.join(", ")), cannot);
        rest = others;
    }
    text
}

fn why(text: &mut String, what: &str, cannot: &Cannot) {
    let line = "writing to a string cannot fail";
    writeln!(text, "  {what}: {}", cannot.reason).expect(line);
    if !cannot.advice.is_empty() {
        writeln!(text, "    hint: {}", cannot.advice).expect(line);
    }
}

fn skipped(plan: &Result<Plan, Cannot>) -> Vec<&SkippedCase> {
    let plans = plan.iter();
    plans.flat_map(|plan| &plan.skipped).collect()
}

fn document(definition: &Definition, plan: &Result<Plan, Cannot>) -> Value {
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
