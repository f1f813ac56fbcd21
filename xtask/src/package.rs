//! `cargo xtask package`: builds the program for distribution, stripped, with what debuggers and
//! profilers need in a separate file.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::bench::own_binary;
use crate::guest::packages;
use crate::{program, repository};

/// Maximum size of the program in bytes.
const BYTES_MAX: u64 = 15 << 20;
/// Programs of GNU binutils, which also has the linker.
const BINUTILS: [&str; 3] = ["objcopy", "nm", "addr2line"];
/// A function whose line is looked up: its mangled name has these parts.
const FUNCTION: (&str, &str) = ("7numalab", "4main");
/// The file that it is in.
const FILE: &str = "numalab/src/main.rs";

/// Builds, strips, and checks size and lines.
pub(crate) fn run() -> Result<ExitCode> {
    for name in BINUTILS {
        packages::require_program(name, "binutils")?;
    }
    let built = own_binary::release()?;
    let folder = repository::target().join("package");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let built = built.display().to_string();
    let tool = |name: &str, words: &[&str]| program::output(name, words, &folder);
    tool("objcopy", &["--only-keep-debug", &built, "numalab.debug"])?;
    let link = "--add-gnu-debuglink=numalab.debug";
    tool("objcopy", &["--strip-all", link, &built, "numalab"])?;
    let bytes = size(&folder.join("numalab"))?;
    let bytes_of_debug = size(&folder.join("numalab.debug"))?;
    println!("{}: {bytes} bytes", folder.join("numalab").display());
    println!("numalab.debug beside it: {bytes_of_debug} bytes");
    if bytes > BYTES_MAX {
        bail!("the program has {bytes} bytes, and {BYTES_MAX} are the most");
    }
    let symbols = tool("nm", &["numalab.debug"])?;
    let address = address_of(&symbols).context("the debug file does not know `main`")?;
    // Asks the stripped program: its link leads to the file beside it.
    let line = tool("addr2line", &["--exe=numalab", address])?;
    if !line.contains(FILE) {
        bail!(
            "no line is found for {address}: addr2line says {}",
            line.trim()
        );
    }
    println!("lines are found: {address} is {}", line.trim());
    Ok(ExitCode::SUCCESS)
}

fn size(path: &Path) -> Result<u64> {
    let metadata = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(metadata.len())
}

/// ```text
/// 00000000003d5a80 t _ZN7numalab4main17h0123456789abcdefE
/// ```
fn address_of(symbols: &str) -> Option<&str> {
    let line = symbols.lines().find(|line| {
        let (place, name) = FUNCTION;
        line.split(place)
            .nth(1)
            .is_some_and(|rest| rest.starts_with(name))
    });
    line?.split_ascii_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_main_is_found_among_symbols() {
        let symbols = "00000000000010a0 T main\n\
            00000000003d5a70 t _ZN7numalab7machine6record17h00E\n\
            00000000003d5a80 t _ZN7numalab4main17h0123456789abcdefE\n";
        assert_eq!(address_of(symbols), Some("00000000003d5a80"));
        assert_eq!(address_of("00000000000010a0 T main\n"), None);
    }
}
