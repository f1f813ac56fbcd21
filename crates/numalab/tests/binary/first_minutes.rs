//! `numalab run` without an experiment, as new users run it, gives an answer in every environment.
//!
//! Tests of experiment.

use crate::environments::Environment;
use crate::laboratory::Laboratory;
use crate::little_memory::LittleMemory;

/// Checks the screen of a short run: it names the machine and gives an answer, or the time that an
/// answer needs.
fn answers(laboratory: &Laboratory) {
    let ended = laboratory.run(&["run", "--within", "8"]).with_code(0);
    let screen = ended.stdout.clone();
    assert!(screen.lines().count() <= 40, "{screen}");
    for part in ["machine  ", "Verdict: ", "Next"] {
        assert!(screen.contains(part), "no {part:?}: {screen}");
    }
    let run = laboratory.document(&["show", "last", "--json"]);
    let compared = run["comparisons"].as_array().unwrap();
    let with_interval = compared.iter().filter(|it| !it["low"].is_null());
    // On a machine too busy to answer in time, the verdict says how much time is enough.
    let verdict = run["verdict"].as_str().unwrap();
    let is_answered = with_interval.count() > 0;
    assert!(is_answered || verdict.contains("`--within "), "{screen}");
    let verdicts = screen.split("Verdict: ").skip(1);
    for verdict in verdicts.map(|text| text.split("\n\n").next().unwrap()) {
        let is_open = verdict.contains("undecided");
        assert!(!is_open || verdict.contains("`--within "), "{screen}");
    }
    laboratory.nothing_is_left();
}

fn in_environment(environment: Environment, test: &str) {
    if let Some(laboratory) = environment.laboratory(test) {
        answers(&laboratory);
    }
}

#[test]
fn root_has_an_answer() {
    in_environment(Environment::Root, "root_has_an_answer");
}

#[test]
fn an_ordinary_user_has_an_answer() {
    in_environment(Environment::Nobody, "an_ordinary_user_has_an_answer");
}

#[test]
fn a_machine_without_control_groups_has_an_answer() {
    let name = "a_machine_without_control_groups_has_an_answer";
    in_environment(Environment::NoGroups, name);
}

#[test]
fn a_container_with_one_cpu_has_an_answer() {
    in_environment(
        Environment::Container,
        "a_container_with_one_cpu_has_an_answer",
    );
}

#[test]
fn two_gibibytes_of_memory_have_an_answer() {
    const NAME: &str = "two_gibibytes_of_memory_have_an_answer";
    if let Some(group) = LittleMemory::new(NAME, 2048) {
        let mut laboratory = Laboratory::new();
        group.launches(&mut laboratory);
        answers(&laboratory);
    }
}
