//! What tests share of the machine, and have one after the other. Each test is a process of its
//! own (`cargo xtask test`) or a thread of one (`cargo test`), so the locks are locks of files:
//! flock(2), which ends with its holder.
//!
//! Tests of numalab.

use std::cell::OnceCell;
use std::fs::File;

use linux::Root;

/// The right to something, while it is kept.
#[expect(dead_code, reason = "held, not read")]
pub(crate) struct Turn(File);

thread_local! {
    /// The right of this test to processor groups, until it ends.
    static GROUPS: OnceCell<Option<Turn>> = const { OnceCell::new() };
}

impl Turn {
    /// Waits until no other test has this.
    pub(crate) fn of(what: &str) -> Self {
        let user = rustix::process::getuid().as_raw();
        let path = std::env::temp_dir().join(format!("numalab-tests-{user}-{what}"));
        let opened = File::options().create(true).append(true).open(&path);
        let file = opened.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.lock().unwrap();
        Turn(file)
    }
}

/// Waits until no other test can have processor groups, if a numalab with these arguments may
/// create one. On cgroup v2 all groups share the controller that the first of them enabled, so that
/// one test would find what another changed; on version 1 they do not.
pub(crate) fn wait_for_groups(arguments: &[&str]) {
    let is_shared = || {
        let hierarchy = placement::hierarchy::find(&Root::live());
        hierarchy.is_ok_and(|it| it.version == 2)
    };
    if may_have_groups(arguments) {
        GROUPS.with(|turn| {
            turn.get_or_init(|| is_shared().then(|| Turn::of("groups")));
        });
    }
}

/// What stands in the file of an experiment, one of which at least, if it has placements.
const PLACEMENTS: [&str; 4] = ["cpus", "memory-nodes", "cpu-limit", "group"];

/// Whether a numalab with these arguments may create a processor group: `group`, `--group`, a CPU
/// limit, a shipped experiment, or a file of one with placements.
fn may_have_groups(arguments: &[&str]) -> bool {
    let is_file = |word: &&&str| word.ends_with(".toml");
    let file = arguments.iter().find(is_file);
    match (arguments.first(), file) {
        (Some(&"run"), Some(path)) => {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            PLACEMENTS.iter().any(|word| text.contains(word))
        }
        (Some(&"run" | &"group"), _) => true,
        _ => arguments
            .iter()
            .any(|word| word.starts_with("--group") || word.starts_with("--cpu-limit")),
    }
}

#[test]
fn only_what_places_may_have_groups() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, placed] = ["plain.toml", "placed.toml"].map(|name| folder.path().join(name));
    std::fs::write(&plain, "[[case]]\nallocation = \"interleave\"\n").unwrap();
    std::fs::write(&placed, "[[case]]\ncpus = \"all:1\"\n").unwrap();
    let [plain, placed] = [&plain, &placed].map(|path| path.to_str().unwrap());
    let check = |arguments: &[&str], expected: bool| {
        assert_eq!(may_have_groups(arguments), expected, "{arguments:?}");
    };
    check(&["run", plain, "--json"], false);
    check(&["run", placed], true);
    check(&["run", "local-vs-remote"], true);
    check(&["group", "list"], true);
    check(&["bind", "--group", "near", "true"], true);
    check(&["bind", "--cpu-limit=2", "true"], true);
    check(&["topology"], false);
    check(&[], false);
}
