//! The files that are installed, below a folder that stands for /usr or /usr/local.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::files::{empty, names, put, write};
use super::notices;
use crate::{program, repository};

/// Files of the repository, and where they go.
const FILES: &[(&str, &str)] = &[
    ("LICENSE-APACHE", "share/doc/numalab/LICENSE-APACHE"),
    ("LICENSE-MIT", "share/doc/numalab/LICENSE-MIT"),
    (
        "packaging/nginx.conf",
        "share/doc/numalab/examples/nginx.conf",
    ),
    (
        "packaging/grafana-dashboard.json",
        "share/numalab/grafana-dashboard.json",
    ),
    (
        "packaging/numalab-rules.yml",
        "share/numalab/numalab-rules.yml",
    ),
    (
        "packaging/numalab-metrics.service",
        "lib/systemd/system/numalab-metrics.service",
    ),
    (
        "packaging/numalab-metrics.timer",
        "lib/systemd/system/numalab-metrics.timer",
    ),
    (
        "packaging/numalab-serve.service",
        "lib/systemd/system/numalab-serve.service",
    ),
    ("packaging/numalab.sysusers", "lib/sysusers.d/numalab.conf"),
];
/// Completions, as clap names them, and where the shells look for them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("numalab.bash", "share/bash-completion/completions/numalab"),
    ("_numalab", "share/zsh/site-functions/_numalab"),
    (
        "numalab.fish",
        "share/fish/vendor_completions.d/numalab.fish",
    ),
];
/// Where man pages go.
pub(super) const MAN: &str = "share/man/man1";
/// The licences of what is linked into the program.
pub(super) const NOTICES: &str = "share/doc/numalab/third-party.txt";
/// The test that writes man pages and completions, and the variable with its folder.
const WRITER: (&str, &str) = (
    "packaged_tests::tests::man_pages_and_completions_are_written",
    "NUMALAB_PACKAGED_TEXTS",
);

/// Makes the tree again in a folder, and returns its path.
pub(super) fn make(packaged: &Path, folder: &Path) -> Result<PathBuf> {
    let tree = folder.join("tree");
    empty(&tree)?;
    put(packaged, &tree.join("bin/numalab"))?;
    for (file, place) in FILES {
        put(&repository::root().join(file), &tree.join(place))?;
    }
    let texts = folder.join("texts");
    write_texts(&texts)?;
    for (file, place) in COMPLETIONS {
        put(&texts.join(file), &tree.join(place))?;
    }
    for name in names(&texts)? {
        if name.ends_with(".1") {
            put(&texts.join(&name), &tree.join(MAN).join(&name))?;
        }
    }
    write(&tree.join(NOTICES), &notices::text()?)?;
    Ok(tree)
}

/// Has a test write man pages and completions: it knows the command line, and the program is
/// smaller without what makes them.
fn write_texts(folder: &Path) -> Result<()> {
    empty(folder)?;
    let (test, variable) = WRITER;
    let set = format!("{variable}={}", folder.display());
    // The build of the whole test.
    let words = "cargo test --workspace --locked --quiet --bin numalab -- --exact";
    let words: Vec<&str> = [set.as_str()].into_iter().chain(words.split(' ')).collect();
    let said = program::output(
        "env",
        &[words.as_slice(), &[test]].concat(),
        &repository::root(),
    )?;
    let is_written = folder.join("numalab.1").is_file();
    is_written
        .then_some(())
        .with_context(|| format!("the test {test} wrote no man page: {}", said.trim()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use testing::{Need, not_run};

    use super::*;

    /// The most that `systemd-analyze security` may say of a unit, in tenths of ten.
    const EXPOSURE_MAX: &str = "25";

    #[test]
    fn every_file_that_is_installed_is_there_and_goes_to_one_place() {
        let mut places: Vec<_> = FILES.iter().map(|(_, place)| place).collect();
        for (file, _) in FILES {
            assert!(repository::root().join(file).is_file(), "{file}");
        }
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), FILES.len());
    }

    #[test]
    fn units_have_every_restriction_that_costs_nothing() {
        for unit in ["numalab-serve.service", "numalab-metrics.service"] {
            let mut analyze = Command::new("systemd-analyze");
            analyze.args(["security", "--offline=true", "--no-pager", "--threshold"]);
            let file = repository::root().join("packaging").join(unit);
            let output = match analyze.arg(EXPOSURE_MAX).arg(&file).output() {
                Ok(output) => output,
                Err(error) => {
                    let test = "units_have_every_restriction_that_costs_nothing";
                    let why = format!("systemd-analyze (Debian: systemd): {error}");
                    return not_run(test, Need::Package, &why);
                }
            };
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{said}");
            assert!(said.contains("Overall exposure level"), "{said}");
        }
    }
}
