//! `numalab inspect` of the embedded instance on article 000's eight nodes: under each placement,
//! what it finds agrees with Shmem of each node, with few sessions and with many.
//!
//! Tests of residency, instance.

use rustix::process::Signal;
use serde_json::Value;

use super::inspect::OTHERS_BYTES;
use super::look::{Counters, Look, Uncounted};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::unmet_need::is_guest;

/// The experiment, whose cases the tests hold.
const EXPERIMENT: &str = r#"
format = "numalab.experiment/1"
name = "held"
question = "Where is it?"
baseline = "bound"
asks-about-memory = true

[sga]
cache = "16MiB"

[load]
sessions = SESSIONS

[[case]]
name = "bound"
about = "One placement."
allocation = "bind:3"
mechanism = "affinity"
cpus = "0"
memory-nodes = "3"

[[case]]
name = "interleaved"
about = "One placement."
allocation = "interleave:all"
mechanism = "affinity"
cpus = "0"

[[case]]
name = "without-policy"
about = "One placement."
mechanism = "affinity"
cpus = "4"
"#;

#[test]
fn a_bound_instance_is_found_where_the_kernel_counts_it() {
    let test = "a_bound_instance_is_found_where_the_kernel_counts_it";
    is_found(test, "bound", &[3]);
}

#[test]
fn an_interleaved_instance_is_found_where_the_kernel_counts_it() {
    let test = "an_interleaved_instance_is_found_where_the_kernel_counts_it";
    is_found(test, "interleaved", &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn an_instance_without_policy_is_found_where_the_kernel_counts_it() {
    let test = "an_instance_without_policy_is_found_where_the_kernel_counts_it";
    is_found(test, "without-policy", &[2]);
}

#[track_caller]
fn is_found(test: &str, case: &str, nodes: &[usize]) {
    if !is_guest(test, "eight-node") {
        return;
    }
    for sessions in [2, 49] {
        let laboratory = Laboratory::new();
        let _uncounted = Uncounted::mounted_for(&laboratory);
        let text = EXPERIMENT.replace("SESSIONS", &sessions.to_string());
        let file = laboratory.file("held.toml", text);
        let before = Counters::read();
        let mut held = laboratory.start(&["run", &file, "--hold", case, "--idle", "--json"]);
        let document: Value = until("the document", || {
            assert!(!held.has_ended(), "it ended early: {}", held.stderr());
            serde_json::from_str(&held.stdout()).ok()
        });
        let look = Look::at(&laboratory, &document["instance_pid"].to_string());
        // The instance itself is one more.
        look.agrees(&before, OTHERS_BYTES, sessions + 1);
        let found = look.shared_memory();
        let total: u64 = found.values().sum();
        let there: u64 = nodes.iter().filter_map(|node| found.get(node)).sum();
        assert!(
            there >= total / 10 * 9,
            "90 % on nodes {nodes:?}: {found:?}"
        );
        assert!(total >= 16 << 20, "16 MiB at least: {found:?}");
        held.signal(Signal::TERM);
        held.finish();
        laboratory.nothing_is_left();
    }
}
