//! Measuring kernels that a definition names: cases are compared as those of any experiment, and
//! the memory of each is proven.
//!
//! Tests of kernels.

use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;

#[test]
fn kernels_are_compared_like_any_other_work() {
    let laboratory = Laboratory::new();
    let chase = "[placement]\ncpus = \"first-node\"\n[load]\nwork = \"pointer-chase\"";
    // One thread: on a busy machine, several may never run together.
    let stream = "[placement]\ncpus = \"all:1\"\n[load]\nwork = \"stream\"\nkernel = \"copy\"";
    for (defaults, metric) in [(chase, "ns_per_access"), (stream, "bytes_per_s")] {
        let experiment = ExperimentFile::new("large", defaults)
            .case("large", "own-memory = \"8MiB\"")
            .case("small", "own-memory = \"4MiB\"");
        let path = laboratory.file("kernel.toml", experiment.text());
        let run = laboratory.document(&["run", &path, "--json", "--trials", "5"]);
        assert_eq!(run["metric"], metric);
        for (case, mib) in run["cases"].as_array().unwrap().iter().zip([8, 4]) {
            let valid = case["trials_valid"].as_u64().unwrap();
            assert!(valid > 0, "{case:#}");
            let trials = case["trials"].as_array().unwrap().iter();
            for trial in trials.filter(|trial| trial["valid"] == true) {
                assert!(trial["value"].as_f64() > Some(0.0), "{trial:#}");
                let threads = trial["evidence"]["measurements"].as_array().unwrap();
                assert!(!threads.is_empty(), "{trial:#}");
                for thread in threads {
                    let by_node = thread["memory_after"]["bytes_by_node"].as_object().unwrap();
                    let bytes: u64 = by_node.values().map(|it| it.as_u64().unwrap()).sum();
                    assert!(bytes >= mib << 20, "{thread:#}");
                }
            }
        }
        // It is shown as a comparison, and not as the machine's matrix.
        let shown = laboratory.run(&["show", "last"]).with_code(0).stdout;
        assert!(shown.contains("times large"), "{shown}");
    }
}
