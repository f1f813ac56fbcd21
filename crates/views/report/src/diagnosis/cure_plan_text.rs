//! The plan of the doctor as text: what it gives, and its steps.

use model::{ByteSize, CpusOfCure, CureInForce, CurePlan, MemoryFigures, counted};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};

/// Formats a plan.
pub fn cure_plan_text(plan: &CurePlan, options: &TextOptions) -> String {
    let cure = plain(&plan.cure);
    let moved = ByteSize(plan.bytes_to_move);
    let head = match (&plan.cpus, plan.moves_private_memory) {
        (Some(_), _) => format!("plan: bind all threads to {cure}"),
        (None, true) => format!("plan: move {moved} of memory to {cure}"),
        (None, false) => format!("plan: move {moved} of shared memory to {cure}"),
    };
    let mut text = format!("{}\n", options.paint(&head, Style::Strong));
    text.push_str(&format!(
        "{:12}{:>15}{:>13}{:>17}\n",
        "", "remote accesses", "distance", "on fullest node"
    ));
    text.push_str(&row("now", &plan.before, ""));
    text.push_str(&row("then", &plan.after, ""));
    if let Some(other) = &plan.runner_up {
        let cure = format!("  with {}", plain(&other.cure));
        text.push_str(&row("or then", &other.after, &cure));
    }
    let alike = format!(
        "if every byte is used alike; distances {}, 1 is local",
        by(plan)
    );
    text.push_str(&options.paragraph("            ", &alike, Style::Usual));
    for sentence in [busiest(plan), cpus_of_plan(plan)].into_iter().flatten() {
        text.push_str(&options.paragraph("            ", &sentence, Style::Usual));
    }
    text.push_str(&options.paragraph("  gain      ", &gain_of_plan(plan), Style::Usual));
    for why in &plan.no_room {
        text.push_str(&options.paragraph("  no room   ", why, Style::Usual));
    }
    for (name, lines) in [
        ("now", &plan.now),
        ("undo", &plan.undo),
        ("for good", &plan.for_good),
        ("verify", &plan.verify),
    ] {
        let mut start = name;
        for line in lines {
            text.push_str(&options.typed(&format!("  {start:<10}"), line));
            start = "";
        }
    }
    for left in &plan.leaves {
        text.push_str(&options.paragraph("  leaves    ", left, Style::Usual));
    }
    text
}

/// How much the busiest memory has, where bandwidths are known.
fn busiest(plan: &CurePlan) -> Option<String> {
    let (now, then) = (plan.before.busiest_load?, plan.after.busiest_load?);
    Some(format!(
        "by the bandwidth of its nodes, the busiest memory has {now:.1} times its part of the \
         accesses now, and {then:.1} then"
    ))
}

/// What a cure by CPUs costs, of a plan or, if it costs something, of what comes second.
pub fn cpus_of_plan(plan: &CurePlan) -> Option<String> {
    let other = plan.runner_up.as_ref();
    let other = other.and_then(|it| Some((&it.cure, it.cpus.as_ref()?)));
    let costs = |it: &CpusOfCure| it.takes_some_away() || !it.fits();
    let other = other.filter(|(_, cpus)| costs(cpus));
    let (cure, cpus) = plan
        .cpus
        .as_ref()
        .map(|cpus| (&plan.cure, cpus))
        .or(other)?;
    Some(cpus_of_cure(cure, cpus))
}

/// `nodes:0 leaves 8 of 16 CPUs, of which it used 2.5`.
pub(crate) fn cpus_of_cure(cure: &str, cpus: &CpusOfCure) -> String {
    let count = cpus.cpus.len();
    let leaves = match cpus.takes_some_away() {
        true => format!("leaves {count} of its {}", counted(cpus.of as u64, "CPU")),
        false => format!(
            "gives it {} for its {}",
            counted(count as u64, "CPU"),
            cpus.of
        ),
    };
    let used = match cpus.used {
        Some(used) => format!("it used {used:.1}"),
        None => "how many it used is unknown".to_owned(),
    };
    format!("{} {leaves}; {used}", plain(cure))
}

/// Whose distances a plan goes by.
fn by(plan: &CurePlan) -> String {
    match &plan.distances_by {
        Some(by) => format!("measured by {by}"),
        None => "by the firmware".to_owned(),
    }
}

/// The most that a plan can give: a bound, since nobody knows how much of the time is accesses.
pub fn gain_of_plan(plan: &CurePlan) -> String {
    let percent = plan.gain_at_most() * 100.0;
    match percent < 0.5 {
        true => "accesses get no shorter; fewer of them wait for one node".to_owned(),
        false => format!(
            "at most {percent:.0} % of the CPU time, if all of it is accesses to memory that take \
             as long as the distances say: a bound, no forecast"
        ),
    }
}

/// Formats whether a cure is in force.
pub(crate) fn in_force_text(verified: &CureInForce, options: &TextOptions) -> String {
    let cure = plain(&verified.cure);
    let percent = |figures: &MemoryFigures| format!("{:.0} %", figures.remote_share * 100.0);
    let (now, wanted) = (percent(&verified.now), percent(&verified.wanted));
    let style = |holds| if holds { Style::Good } else { Style::Bad };
    let start = format!("{cure}: ");
    let mut text = String::new();
    if let Some(are_there) = verified.threads_are_there {
        let threads = match are_there {
            true => "in force for all threads",
            false => "not in force for all threads: some may use other CPUs",
        };
        text.push_str(&options.paragraph(&start, threads, style(are_there)));
    }
    let memory = match verified.is_there {
        true => format!("in force for memory that exists: {now} of accesses are remote"),
        false => format!(
            "not in force for memory that exists: {now} of accesses are remote, and would be \
             {wanted}; the fullest node has {:.0} % of it, and would have {:.0} %",
            verified.now.fullest_share * 100.0,
            verified.wanted.fullest_share * 100.0
        ),
    };
    text.push_str(&options.paragraph(&start, &memory, style(verified.is_there)));
    let later = match verified.later.is_empty() {
        true => "in force for memory that comes later".to_owned(),
        false => format!(
            "not in force for memory that comes later: {}",
            verified.later.join("; ")
        ),
    };
    text.push_str(&options.paragraph(&start, &later, style(verified.later.is_empty())));
    text
}

fn row(name: &str, figures: &MemoryFigures, cure: &str) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    format!(
        "  {name:<10}{:>15}{:>13.1}{:>17}{cure}\n",
        percent(figures.remote_share),
        figures.relative_access,
        percent(figures.fullest_share)
    )
}

#[cfg(test)]
mod tests {
    use model::{OtherCure, ShellLine};

    use super::*;

    #[test]
    fn a_plan_has_its_gain_its_steps_and_what_it_leaves() {
        let figures = |remote_share, relative_access, fullest_share| MemoryFigures {
            remote_share,
            relative_access,
            fullest_share,
            ..MemoryFigures::default()
        };
        let lines = |line| vec![ShellLine::of(line)];
        let plan = CurePlan {
            cure: "near-cpus".to_owned(),
            moves_private_memory: true,
            bytes_to_move: 573 << 20,
            before: figures(1.0, 2.1, 1.0),
            after: figures(0.0, 1.0, 1.0),
            runner_up: Some(OtherCure {
                cure: "interleave=0-1".to_owned(),
                after: figures(0.5, 1.55, 0.5),
                cpus: None,
            }),
            now: vec![
                ShellLine::of("numalab move 7 --to near-cpus"),
                ShellLine::of("# 2 s"),
            ],
            undo: lines("numalab undo"),
            for_good: lines("# nothing"),
            verify: lines("numalab doctor 7 --fail-on warning"),
            leaves: vec!["numa-balancing: it is on".to_owned()],
            ..CurePlan::default()
        };
        let expected = "\
plan: move 573 MiB of memory to near-cpus
            remote accesses     distance  on fullest node
  now                 100 %          2.1            100 %
  then                  0 %          1.0            100 %
  or then              50 %          1.6             50 %  with interleave=0-1
            if every byte is used alike; distances by the firmware, 1 is local
  gain      at most 52 % of the CPU time, if all of it is accesses to memory
            that take as long as the distances say: a bound, no forecast
  now       numalab move 7 --to near-cpus
            # 2 s
  undo      numalab undo
  for good  # nothing
  verify    numalab doctor 7 --fail-on warning
  leaves    numa-balancing: it is on
";
        assert_eq!(cure_plan_text(&plan, &TextOptions::default()), expected);
    }

    #[test]
    fn a_cure_by_cpus_says_what_it_leaves_and_what_was_used() {
        let text = |plan: &CurePlan| cure_plan_text(plan, &TextOptions::default());
        let mut with_cpus = CurePlan::default();
        let cpus = |used| CpusOfCure {
            cpus: "8-15".parse().unwrap(),
            of: 16,
            used,
        };
        with_cpus.runner_up = Some(OtherCure {
            cure: "nodes:1".to_owned(),
            cpus: Some(cpus(Some(2.46))),
            after: MemoryFigures::default(),
        });
        let found = text(&with_cpus);
        let expected = "            nodes:1 leaves 8 of its 16 CPUs; it used 2.5\n";
        assert!(found.contains(expected), "{found}");
        with_cpus.before.busiest_load = Some(2.0);
        with_cpus.after.busiest_load = Some(1.0);
        with_cpus.cure = "nodes:1".to_owned();
        with_cpus.cpus = Some(CpusOfCure {
            of: 8,
            ..cpus(None)
        });
        let found = text(&with_cpus);
        for expected in [
            "plan: bind all threads to nodes:1\n",
            "  nodes:1 gives it 8 CPUs for its 8; how many it used is unknown\n",
            "  by the bandwidth of its nodes, the busiest memory has 2.0 times",
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn threads_are_verified_where_a_cure_binds_them() {
        let text = |threads_are_there| {
            let verified = CureInForce {
                cure: "nodes:1".to_owned(),
                threads_are_there,
                is_there: true,
                ..CureInForce::default()
            };
            in_force_text(&verified, &TextOptions::default())
        };
        assert!(text(Some(true)).starts_with("nodes:1: in force for all threads\n"));
        assert!(text(Some(false)).starts_with("nodes:1: not in force for all threads"));
        assert!(text(None).starts_with("nodes:1: in force for memory that exists"));
    }
}
