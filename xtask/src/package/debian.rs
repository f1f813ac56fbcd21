//! The Debian package. `dpkg-deb` makes it of a tree, and three scripts of `packaging/debian` are
//! all that dpkg runs: cargo-deb, with its 150 crates, would be built for what `dpkg-deb --build`
//! does, and would build the program once more in its own way.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::files::{empty, names, put, write};
use super::machine::Machine;
use super::tree::{MAN, NOTICES};
use crate::guest::packages;
use crate::{program, repository};

/// The revision of the package, and the one to which its trial upgrades.
pub(super) const REVISION: u32 = 1;
pub(super) const NEXT_REVISION: u32 = 2;
/// Where Debian's packages have what is elsewhere below /usr/local.
const ELSEWHERE: (&str, &str) = (
    "share/zsh/site-functions/_numalab",
    "share/zsh/vendor-completions/_numalab",
);
/// Files of the administrator, which dpkg keeps when they were changed.
const SETTINGS: [(&str, &str); 1] = [(
    "packaging/numalab-serve.default",
    "etc/default/numalab-serve",
)];
/// What dpkg runs.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];
/// Documents that are not compressed, below /usr/share/doc/numalab.
const DOCUMENTS: &str = "usr/share/doc/numalab";

/// Builds the package of a tree, and returns its path. The same tree makes the same package.
pub(super) fn build(from: &Path, machine: Machine, revision: u32, made_at: u64) -> Result<PathBuf> {
    for name in ["dpkg-deb", "gzip", "md5sum"] {
        packages::require_program(name, if name == "md5sum" { "coreutils" } else { name })?;
    }
    let version = format!("{}-{revision}", env!("CARGO_PKG_VERSION"));
    let folder = machine.folder();
    let root = folder.join("debian");
    empty(&root)?;
    copy(from, Path::new(""), &root.join("usr"))?;
    documents(&root, &version, made_at)?;
    compress(&root)?;
    control(&root, &version, machine)?;
    let package = folder.join(format!("numalab_{version}_{}.deb", machine.debian()));
    let set = format!("SOURCE_DATE_EPOCH={made_at}");
    let words = [
        &set,
        "dpkg-deb",
        "--root-owner-group",
        "-Zxz",
        "--build",
        "debian",
    ];
    let name = package.display().to_string();
    program::output("env", &[&words[..], &[&name]].concat(), &folder)?;
    Ok(package)
}

/// Copies the tree to where Debian has its files.
fn copy(from: &Path, below: &Path, into: &Path) -> Result<()> {
    for name in names(&from.join(below))? {
        let path = below.join(&name);
        if from.join(&path).is_dir() {
            copy(from, &path, into)?;
            continue;
        }
        // The common licences are on every Debian, and `copyright` has ours.
        if name.starts_with("LICENSE") {
            continue;
        }
        let (there, here) = ELSEWHERE;
        let place = if path == Path::new(there) {
            Path::new(here)
        } else {
            &path
        };
        put(&from.join(&path), &into.join(place))?;
    }
    Ok(())
}

/// Writes what Debian's policy (12.5, 12.7) asks for beside the files, and the settings.
fn documents(root: &Path, version: &str, made_at: u64) -> Result<()> {
    let repository = repository::root();
    let read = |name: &str| {
        let path = repository.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let copyright = read("packaging/debian/copyright")? + &read("LICENSE-MIT")?;
    write(&root.join(DOCUMENTS).join("copyright"), copyright)?;
    put(
        &repository.join("CHANGELOG.md"),
        &root.join(DOCUMENTS).join("changelog"),
    )?;
    let at = format!("--date=@{made_at}");
    let date = program::output("date", &["--utc", "--rfc-email", &at], root)?;
    let changes = format!(
        "numalab ({version}) unstable; urgency=medium\n\n  * Made by `cargo xtask package`; \
         changelog.gz has what changed.\n\n -- {}  {date}",
        maintainer()?
    );
    write(&root.join(DOCUMENTS).join("changelog.Debian"), changes)?;
    put(
        &repository.join("packaging/debian/lintian-overrides"),
        &root.join("usr/share/lintian/overrides/numalab"),
    )?;
    SETTINGS
        .iter()
        .try_for_each(|(file, place)| put(&repository.join(file), &root.join(place)))?;
    // The token comes into it.
    empty(&root.join("etc/numalab"))
}

/// Compresses manual pages and long documents, as the policy (12.1, 12.3) has it.
fn compress(root: &Path) -> Result<()> {
    let man = root.join("usr").join(MAN);
    let pages = names(&man)?.into_iter().map(|name| man.join(name));
    let documents = ["changelog", "changelog.Debian"].map(|it| root.join(DOCUMENTS).join(it));
    let notices = root.join("usr").join(NOTICES);
    let all = pages.chain(documents).chain([notices]);
    let all: Vec<String> = all.map(|path| path.display().to_string()).collect();
    let words = ["--best", "--no-name", "--"].into_iter();
    let words: Vec<&str> = words.chain(all.iter().map(String::as_str)).collect();
    program::output("gzip", &words, root).map(|_| ())
}

/// Writes what dpkg reads and runs.
fn control(root: &Path, version: &str, machine: Machine) -> Result<()> {
    let sums = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum --";
    let sums = program::output("sh", &["-c", sums], root)?;
    let size = program::output("du", &["-sk", "--apparent-size", "."], root)?;
    let kib = size.split_ascii_whitespace().next().unwrap_or("0");
    let settings = SETTINGS.map(|(_, place)| format!("/{place}\n")).concat();
    let control = format!(
        "Package: numalab\nVersion: {version}\nArchitecture: {}\nMaintainer: {}\n\
         Installed-Size: {kib}\nSuggests: prometheus-node-exporter\nSection: utils\n\
         Priority: optional\nDescription: NUMA laboratory for databases\n \
         numalab tells you whether NUMA placement is slowing your database down, by\n how much, \
         and how to fix it. It measures the latency and bandwidth between\n nodes, shows which \
         node holds each page of a running database without\n touching it, and compares \
         placements by the same workload under each.\n",
        machine.debian(),
        maintainer()?
    );
    let folder = root.join("DEBIAN");
    write(&folder.join("control"), control)?;
    write(&folder.join("md5sums"), sums)?;
    write(&folder.join("conffiles"), settings)?;
    for name in SCRIPTS {
        let file = repository::root().join("packaging/debian").join(name);
        put(&file, &folder.join(name))?;
    }
    Ok(())
}

/// Who made the package: as Debian's tools have it, by DEBFULLNAME and DEBEMAIL, else whoever made
/// the commit.
fn maintainer() -> Result<String> {
    let variable = |name: &str| std::env::var(name).ok();
    if let (Some(name), Some(address)) = (variable("DEBFULLNAME"), variable("DEBEMAIL")) {
        return Ok(format!("{name} <{address}>"));
    }
    let words = ["log", "-1", "--format=%an <%ae>"];
    let found = program::output("git", &words, &repository::root())?;
    if found.trim().is_empty() {
        bail!("git names nobody who made the commit; set DEBFULLNAME and DEBEMAIL");
    }
    Ok(found.trim().to_owned())
}
