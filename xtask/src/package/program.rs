//! The program as it is handed on: it needs no library of the machine on which it runs, and is
//! stripped, with what debuggers and profilers need in a separate file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::machine::Machine;
use crate::program as programs;

/// Maximum size of the program in bytes.
const BYTES_MAX: u64 = 16 << 20;
/// How the program is linked: with the C library in it, and its relocations in a table of a
/// hundredth of the size. Both are for its start (docs/placing.md); position-independent it stays.
/// The linker is that of the compiler, LLD.
const LINKED: [&str; 4] = [
    "-Ctarget-feature=+crt-static",
    "-Clink-arg=-Wl,-z,pack-relative-relocs",
    // Functions that a start needs lie together.
    "-Ccodegen-units=1",
    // Functions with the same code are one: generic code of many types is the same.
    "-Clink-arg=-Wl,--icf=all",
];
/// A function whose line is looked up: its mangled name has these parts.
const FUNCTION: (&str, &str) = ("7numalab", "4main");
/// The file that it is in.
const FILE: &str = "numalab/src/main.rs";

/// Builds and strips the program; returns its path. The file for debuggers lies beside it.
pub(crate) fn build(machine: Machine) -> Result<PathBuf> {
    let folder = machine.folder();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let words = "--profile dist --locked --quiet --package numalab --bin numalab --";
    let mut cargo = machine.cargo("rustc")?;
    programs::output_of(cargo.args(words.split(' ')).args(LINKED)).context(
        "cannot link with the C library inside: it needs libc.a (Debian: libc6-dev, Fedora: \
         glibc-static)",
    )?;
    let built = machine.built().join("numalab").display().to_string();
    let objcopy = machine.tool("objcopy")?;
    let copy = |words: &[&str]| programs::output(&objcopy, words, &folder);
    copy(&["--only-keep-debug", &built, "numalab.debug"])?;
    let link = "--add-gnu-debuglink=numalab.debug";
    copy(&["--strip-all", link, &built, "numalab"])?;
    Ok(machine.program())
}

/// Checks size, libraries and lines, and that it starts if it is for this machine.
pub(super) fn check(machine: Machine) -> Result<()> {
    let folder = machine.folder();
    let packaged = machine.program();
    let tool = |name: &str, words: &[&str]| {
        machine
            .tool(name)
            .and_then(|name| programs::output(&name, words, &folder))
    };
    let bytes = size(&packaged)?;
    let bytes_of_debug = size(&folder.join("numalab.debug"))?;
    println!("{}: {bytes} bytes", packaged.display());
    println!("numalab.debug beside it: {bytes_of_debug} bytes");
    if bytes > BYTES_MAX {
        bail!("the program has {bytes} bytes, and {BYTES_MAX} are the most");
    }
    let dynamic = tool("readelf", &["--dynamic", "--wide", "numalab"])?;
    if let Some(line) = dynamic.lines().find(|line| line.contains("(NEEDED)")) {
        bail!("the program needs a library: {}", line.trim());
    }
    let is_anywhere = machine.is_position_independent();
    if is_anywhere && !dynamic.contains("PIE") {
        bail!("the program is not position-independent: {dynamic}");
    }
    if is_anywhere && !dynamic.contains("BIND_NOW") {
        bail!("the program is not linked with full RELRO (.cargo/config.toml): {dynamic}");
    }
    if machine == Machine::Amd64 {
        let version = programs::output("./numalab", &["--version"], &folder)?;
        println!("{}", version.trim());
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
    Ok(())
}

/// The size of a file in bytes.
pub(super) fn size(path: &Path) -> Result<u64> {
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
