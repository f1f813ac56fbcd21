//! numalab with fewer privileges: each experiment is measured as far as possible, what is skipped
//! is named before anything starts, and `list` predicts what `run` does.
//!
//! Tests of experiment, linux.

use serde_json::Value;

use testing::{Need, not_run};

use crate::environments::Environment;
use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::turns::Turn;

/// Maximum number of characters of a reason.
const REASON_CHARS_MAX: usize = 60;
/// Set if there is time for the whole table of runs.
const LONG: &str = "NUMALAB_LONG_TESTS";

/// Returns what `list` says about every experiment.
fn listed(laboratory: &Laboratory) -> Vec<Value> {
    let document = laboratory.document(&["list", "--json"]);
    document["experiments"].as_array().unwrap().clone()
}

fn listed_of(laboratory: &Laboratory, name: &str) -> Value {
    let mut experiments = listed(laboratory).into_iter();
    experiments.find(|it| it["name"] == name).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn names(cases: &Value) -> Vec<&str> {
    let cases = cases.as_array().unwrap().iter();
    cases.map(|case| text(&case["case"])).collect()
}

#[test]
fn every_experiment_has_an_answer_in_every_environment() {
    const NAME: &str = "every_experiment_has_an_answer_in_every_environment";
    for environment in Environment::ALL {
        let Some(laboratory) = environment.laboratory(NAME) else {
            continue;
        };
        for experiment in listed(&laboratory) {
            let runs_here = experiment["runs_here"].as_bool().unwrap();
            assert_eq!(runs_here, experiment["reason"].is_null(), "{experiment}");
            let skipped = experiment["skipped"].as_array().unwrap();
            for reason in skipped.iter().chain([&experiment]).map(|it| &it["reason"]) {
                let chars = reason.as_str().unwrap_or("").chars().count();
                assert!(chars <= REASON_CHARS_MAX, "{environment:?}: {reason}");
            }
            if experiment["name"] == "binding-vs-caging" && runs_here {
                the_quotas_are_left_out_where_none_can_be_set(environment, &experiment);
            }
        }
    }
}

fn the_quotas_are_left_out_where_none_can_be_set(environment: Environment, experiment: &Value) {
    let host = placement::hierarchy::find_writable(&linux::Root::live(), "cpu");
    let has_quotas = environment.has_groups() && host.is_ok();
    let is_skipped = names(&experiment["skipped"]).contains(&"binding-and-quota");
    assert_eq!(is_skipped, !has_quotas, "{environment:?}: {experiment}");
}

/// Writes `binding-vs-caging` with the smallest cache and a fixed work unit.
fn small_binding_vs_caging(laboratory: &Laboratory) -> String {
    let shipped = experiment::SHIPPED.iter();
    let shipped = shipped.clone().find(|it| it.name == "binding-vs-caging");
    let small = "[sga]\ncache = \"1MiB\"\n\n[load]\nwork-unit = 16\n";
    let text = shipped.unwrap().text.replacen("[load]\n", small, 1);
    laboratory.file("small.toml", text)
}

/// Runs it for as many trials as there is time for; all that were made must count.
fn binding_vs_caging_runs_as_it_is_listed(environment: Environment, test: &str) {
    let Some(laboratory) = environment.laboratory(test) else {
        return;
    };
    let listed = listed_of(&laboratory, "binding-vs-caging");
    let path = small_binding_vs_caging(&laboratory);
    let words = ["run", &path, "--json", "--seconds", "0.4", "--within", "4"];
    let ended = laboratory.run(&words);
    if listed["runs_here"] == false {
        refused_as_listed(&ended, &listed);
    } else {
        let run = ended.with_code(0).document();
        assert_eq!(names(&run["skipped"]), names(&listed["skipped"]));
        some_trial_counts_and_none_does_not(environment, &run);
    }
    laboratory.nothing_is_left();
}

/// Asserts that it ended before anything started, with the listed reason and the right code.
#[track_caller]
fn refused_as_listed(ended: &Finished, listed: &Value) {
    let code = ended.status.code();
    assert!(code == Some(3) || code == Some(4), "{ended:?}");
    // How many huge pages are free changes with what other programs do meanwhile.
    let reason = text(&listed["reason"]);
    let (reason, _) = reason.split_once(" (").unwrap_or((reason, ""));
    ended.says(&[reason]);
    if let Some(advice) = listed["advice"].as_str() {
        let (advice, _) = advice.split_once(" --set ").unwrap_or((advice, ""));
        ended.says(&[advice]);
    }
    assert_eq!(ended.stdout, "");
}

#[track_caller]
fn some_trial_counts_and_none_does_not(environment: Environment, run: &Value) {
    let mut count = 0;
    for case in run["cases"].as_array().unwrap() {
        for trial in case["trials"].as_array().unwrap() {
            // On a very busy machine, a session may get no CPU in a window.
            let reason = trial["reason"].as_str().unwrap_or("");
            if reason.contains("completed no statement in the window") {
                continue;
            }
            assert_eq!(trial["valid"], true, "{environment:?}: {trial:#}");
            count += 1;
            let policy = &trial["evidence"]["sga"]["policy"];
            assert!(
                environment.has_policies() || policy == "default",
                "{policy}"
            );
        }
        let is_bound = !case["placement"]["cpus"].is_null();
        let by_group = case["placement"]["mechanism"] == "group";
        assert!(!by_group || environment.has_groups(), "{case:#}");
        let host = placement::hierarchy::find(&linux::Root::live());
        let can = environment.has_groups() && host.is_ok();
        assert_eq!(by_group, is_bound && can, "{environment:?}: {case:#}");
    }
    assert!(count > 0, "{environment:?}: {run:#}");
}

#[test]
fn nobody_compares_binding_and_caging() {
    let name = "nobody_compares_binding_and_caging";
    binding_vs_caging_runs_as_it_is_listed(Environment::Nobody, name);
}

#[test]
fn a_seccomp_filter_leaves_binding_and_caging_to_compare() {
    let name = "a_seccomp_filter_leaves_binding_and_caging_to_compare";
    binding_vs_caging_runs_as_it_is_listed(Environment::Seccomp, name);
}

#[test]
fn nobody_compares_binding_and_caging_under_a_seccomp_filter() {
    let name = "nobody_compares_binding_and_caging_under_a_seccomp_filter";
    binding_vs_caging_runs_as_it_is_listed(Environment::SeccompNobody, name);
}

#[test]
fn read_only_control_groups_leave_binding_and_caging_to_compare() {
    let name = "read_only_control_groups_leave_binding_and_caging_to_compare";
    binding_vs_caging_runs_as_it_is_listed(Environment::ReadOnlyGroups, name);
}

#[test]
fn binding_and_caging_are_compared_without_control_groups() {
    let name = "binding_and_caging_are_compared_without_control_groups";
    binding_vs_caging_runs_as_it_is_listed(Environment::NoGroups, name);
}

#[test]
fn a_read_only_sys_leaves_everything() {
    let name = "a_read_only_sys_leaves_everything";
    binding_vs_caging_runs_as_it_is_listed(Environment::ReadOnlySys, name);
}

#[test]
fn a_container_with_one_cpu_says_what_is_missing() {
    let name = "a_container_with_one_cpu_says_what_is_missing";
    binding_vs_caging_runs_as_it_is_listed(Environment::Container, name);
}

/// A column of the whole table: each shipped experiment, unchanged, in an environment.
fn every_experiment_runs_as_it_is_listed(environment: Environment, test: &str) {
    if std::env::var_os(LONG).is_none() {
        return not_run(
            test,
            Need::Time,
            "it takes minutes: cargo xtask test --only long:host",
        );
    }
    let Some(laboratory) = environment.laboratory(test) else {
        return;
    };
    for mut listed in listed(&laboratory) {
        // Other tests set the pool of huge pages: not between the list and the run.
        let is_of_pool = listed["name"] == "huge-pages";
        let _turn = is_of_pool.then(|| Turn::of("pool"));
        if is_of_pool {
            listed = listed_of(&laboratory, "huge-pages");
        }
        let name = text(&listed["name"]);
        // A cluster is created and calibrated before the first trial.
        let kind = name.split('-').next().unwrap_or_default();
        let is_server = model::ServerKind::find(kind).is_some();
        let within = if is_server { "30" } else { "6" };
        let words = ["run", name, "--json", "--seconds", "1", "--within", within];
        let ended = laboratory.run(&words);
        if listed["runs_here"] == false {
            refused_as_listed(&ended, &listed);
            continue;
        }
        // On a busy machine, all trials of a case of a server may be of the kind below.
        let is_invalid = is_server && ended.status.code() == Some(6);
        let run = ended.with_code(if is_invalid { 6 } else { 0 }).document();
        assert_eq!(names(&run["skipped"]), names(&listed["skipped"]), "{name}");
        let cases = run["cases"].as_array().unwrap();
        let trials = cases
            .iter()
            .flat_map(|case| case["trials"].as_array().unwrap());
        let (valid, invalid): (Vec<&Value>, _) = trials.partition(|it| it["valid"] == true);
        assert!(!valid.is_empty() || is_server, "{name}: {run:#}");
        // On a busy machine, a server has waits without a name, a session completes no statement in
        // the window, or the kernel, which moves a page to join free memory, names no node for it.
        let is_of_load = |it: &&Value| {
            let reason = text(&it["reason"]);
            reason.contains("completed no statement in the window")
                || reason.starts_with("the kernel names no node for ")
                || (is_server && reason.contains("of DB time"))
        };
        let others: Vec<&str> = invalid
            .iter()
            .filter(|it| !is_of_load(it))
            .map(|it| text(&it["reason"]))
            .collect();
        assert!(others.is_empty(), "{name}: {others:#?}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn every_experiment_runs_as_listed_for_root() {
    let test = "every_experiment_runs_as_listed_for_root";
    every_experiment_runs_as_it_is_listed(Environment::Root, test);
}

#[test]
fn every_experiment_runs_as_listed_for_nobody() {
    let test = "every_experiment_runs_as_listed_for_nobody";
    every_experiment_runs_as_it_is_listed(Environment::Nobody, test);
}

#[test]
fn every_experiment_runs_as_listed_behind_a_filter() {
    let test = "every_experiment_runs_as_listed_behind_a_filter";
    every_experiment_runs_as_it_is_listed(Environment::Seccomp, test);
}

#[test]
fn every_experiment_runs_as_listed_for_nobody_behind_a_filter() {
    let test = "every_experiment_runs_as_listed_for_nobody_behind_a_filter";
    every_experiment_runs_as_it_is_listed(Environment::SeccompNobody, test);
}

#[test]
fn every_experiment_runs_as_listed_with_read_only_groups() {
    let test = "every_experiment_runs_as_listed_with_read_only_groups";
    every_experiment_runs_as_it_is_listed(Environment::ReadOnlyGroups, test);
}

#[test]
fn every_experiment_runs_as_listed_without_groups() {
    let test = "every_experiment_runs_as_listed_without_groups";
    every_experiment_runs_as_it_is_listed(Environment::NoGroups, test);
}

#[test]
fn every_experiment_runs_as_listed_with_a_read_only_sys() {
    let test = "every_experiment_runs_as_listed_with_a_read_only_sys";
    every_experiment_runs_as_it_is_listed(Environment::ReadOnlySys, test);
}

#[test]
fn every_experiment_runs_as_listed_in_a_container() {
    let test = "every_experiment_runs_as_listed_in_a_container";
    every_experiment_runs_as_it_is_listed(Environment::Container, test);
}
