//! Golden files: a test's output when a person last reviewed it, in `golden/`.
//!
//! `NUMALAB_UPDATE_GOLDEN=1 cargo test` writes the current output; review the difference before you
//! commit it.

use std::fs;
use std::path::{Path, PathBuf};

/// The path of the golden file `name` (a path below `golden/`).
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name)
}

/// The content of a golden file.
///
/// # Panics
/// When the file does not exist: the test that writes it has not run.
pub fn read(name: &str) -> String {
    let path = path(name);
    fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// Compares an output with a golden file.
///
/// # Panics
/// When they differ, showing the first line that does, or when the file does not exist.
pub fn check(name: &str, output: &str) {
    check_file(&path(name), output);
}

/// Compares an output with a file elsewhere, as [`check`] does.
///
/// # Panics
/// As [`check`].
pub fn check_file(path: &Path, output: &str) {
    if std::env::var_os("NUMALAB_UPDATE_GOLDEN").is_some() {
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(path, output));
        written.unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
        return;
    }
    let golden = fs::read_to_string(path).unwrap_or_else(|cause| {
        panic!(
            "{}: {cause}; NUMALAB_UPDATE_GOLDEN=1 writes it",
            path.display()
        )
    });
    if golden == output {
        return;
    }
    let differs = golden
        .lines()
        .zip(output.lines())
        .position(|(was, is)| was != is);
    let line = differs.unwrap_or_else(|| golden.lines().count().min(output.lines().count()));
    let shown = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    panic!(
        "{}, line {}:\n  golden: {}\n  output: {}\nNUMALAB_UPDATE_GOLDEN=1 writes the output",
        path.display(),
        line + 1,
        shown(&golden),
        shown(output)
    );
}
