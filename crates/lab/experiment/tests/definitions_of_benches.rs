//! Checks that the experiment files of benchmarks parse: the tests do not run benchmarks, so
//! nothing else would notice.

use std::fs;
use std::path::Path;

use experiment::Definition;

#[test]
fn the_experiments_of_benchmarks_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../xtask/src/bench");
    let mut read = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "toml") {
            continue;
        }
        // One of them runs with several engines; the name replaces ENGINE.
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("ENGINE", "instance");
        let file = path.display().to_string();
        Definition::parse(&file, &text).unwrap_or_else(|error| panic!("{error}"));
        read += 1;
    }
    assert!(read >= 3, "{read} in {}", folder.display());
}
