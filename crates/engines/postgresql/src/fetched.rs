//! Fetches the programs of a PostgreSQL if none is installed: those that the project
//! embedded-postgres-binaries builds and publishes at Maven Central (io.zonky.test.postgres).
//!
//! Programs that most hosts have (curl, sha512sum, unzip, tar) do the work, so no TLS stack is
//! compiled in. They and everything fetched run as the server's user: root neither runs nor reads
//! anything that came over the network.

use std::path::Path;
use std::time::Duration;

use observed::{Program, ServerUser};

use crate::installation;
use crate::programs::without_settings_of_others;
use crate::version::Release;
use model::exit::ExitCode;
use server::Error;

use crate::Installation;

/// The repository of the releases.
const REPOSITORY: Repository = Repository {
    url: "https://repo1.maven.org/maven2/io/zonky/test/postgres",
    protocol: "=https",
};
/// Name of the archive in the directory until it is unpacked.
const ARCHIVE: &str = "archive.jar";
/// Name of the folder of the archive that is in it, until that is unpacked.
const INNER: &str = "inner";
/// Maximum size of an archive; releases have 10 to 40 MB.
const ARCHIVE_BYTES_MAX: &str = "256M";
/// Timeout for one file, and for a silent connection, in seconds.
const SECONDS_MAX: &str = "600";
const SILENT_SECONDS_MAX: &str = "30";
/// Timeout for one program: curl tries each file three times.
const WITHIN: Duration = Duration::from_secs(1900);
/// The programs that do the work.
const NEEDS: &str = "fetching needs curl, sha512sum, unzip, tar and xz";

/// A Maven repository.
struct Repository {
    /// The URL of the directory of the artifacts.
    url: &'static str,
    /// What curl's `--proto` allows.
    protocol: &'static str,
}

impl Release {
    /// Returns the newest build of this release that a `maven-metadata.xml` lists.
    ///
    /// ```text
    ///       <version>18.6.0</version>
    /// ```
    fn newest_in<'x>(&self, metadata: &'x str) -> Option<&'x str> {
        let versions = metadata.split("<version>").skip(1);
        let versions = versions.filter_map(|rest| Some(rest.split_once("</version>")?.0.trim()));
        let builds = versions.filter_map(|version| Some((numbers(version)?, version)));
        let own = builds.filter(|(numbers, _)| {
            numbers.first() == Some(&self.major)
                && self
                    .minor
                    .is_none_or(|minor| numbers.get(1) == Some(&minor))
        });
        own.max().map(|(_, version)| version)
    }
}

/// Returns the numbers of `18.6.0` or `11.1.0-1`; `None` for anything else, such as a beta.
fn numbers(version: &str) -> Option<Vec<u32>> {
    let parts = version.split(['.', '-']);
    parts.map(|part| part.parse().ok()).collect()
}

/// Fetches the programs into `folder`, which belongs to `user` and is empty.
///
/// # Errors
/// When a required program is missing, the release does not exist, its checksum differs, or it does
/// not run here.
pub(crate) fn fetch(
    release: &Release,
    folder: &Path,
    user: Option<ServerUser>,
) -> Result<Installation, Error> {
    let failed = |cause| {
        let message = format!("cannot download PostgreSQL {release} from Maven Central: {cause}");
        Error::new(ExitCode::MachineCannot, message).advise(
            "install PostgreSQL, or download and unpack it elsewhere (see docs/postgres.md) and \
             name its bin directory with --pg-bin",
        )
    };
    let work = Work { folder, user };
    work.unpacked(release, &REPOSITORY).map_err(failed)?;
    installation::of(&folder.join("bin"), user)
}

/// Runs programs in one directory as one user.
struct Work<'f> {
    folder: &'f Path,
    user: Option<ServerUser>,
}

impl Work<'_> {
    fn unpacked(&self, release: &Release, repository: &Repository) -> Result<(), String> {
        let artifact = format!("embedded-postgres-binaries-linux-{}", platform()?);
        let url = format!("{}/{artifact}", repository.url);
        let download = |from: &str, to: &[&str]| self.download(repository, from, to);
        let metadata = download(&format!("{url}/maven-metadata.xml"), &[])?;
        let metadata = String::from_utf8_lossy(&metadata);
        let version = release
            .newest_in(&metadata)
            .ok_or_else(|| format!("no such release of {artifact} is published"))?;
        let url = format!("{url}/{version}/{artifact}-{version}.jar");
        let checksum = download(&format!("{url}.sha512"), &[])?;
        download(&url, &["--output", ARCHIVE])?;
        self.verify(&checksum)?;
        self.unpack()?;
        self.run("rm", &["--recursive", "--force", ARCHIVE, INNER])
            .map(drop)
    }

    /// Downloads a file; returns its content unless it goes to a file.
    fn download(&self, repository: &Repository, url: &str, to: &[&str]) -> Result<Vec<u8>, String> {
        let words = [
            "--silent",
            "--show-error",
            "--fail",
            "--location",
            "--proto",
            repository.protocol,
            "--retry",
            "2",
            "--max-filesize",
            ARCHIVE_BYTES_MAX,
            "--max-time",
            SECONDS_MAX,
            "--connect-timeout",
            SILENT_SECONDS_MAX,
            "--speed-limit",
            "1",
            "--speed-time",
            SILENT_SECONDS_MAX,
        ];
        let words = [&words[..], to, &[url]].concat();
        let said = self.run("curl", &words);
        said.map_err(|cause| format!("{url}: {cause}"))
    }

    /// Compares the archive with its published checksum.
    fn verify(&self, checksum: &[u8]) -> Result<(), String> {
        let text = String::from_utf8_lossy(checksum);
        let digits = text.split_ascii_whitespace().next().unwrap_or_default();
        if digits.len() != 128 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("its published SHA-512 checksum is malformed".to_owned());
        }
        let sum = self.program("sha512sum", &["--check", "--status"]);
        let sum = sum.given(format!("{digits}  {ARCHIVE}\n").as_bytes());
        let answer = sum.answer().map_err(|error| not_run("sha512sum", error))?;
        match answer.status.success() {
            true => Ok(()),
            false => Err(
                "the SHA-512 checksum of the archive does not match the published one".to_owned(),
            ),
        }
    }

    /// Unpacks the archive, which holds one compressed tar archive of `bin`, `lib` and `share`.
    fn unpack(&self) -> Result<(), String> {
        self.run("unzip", &["-q", "-j", ARCHIVE, "*.txz", "-d", INNER])?;
        let tar = "exec tar --extract --xz --no-same-owner --file \"$1\"/*.txz";
        self.run("sh", &["-c", tar, "sh", INNER]).map(drop)
    }

    /// Runs a program to its end; returns what it printed.
    fn run(&self, name: &str, words: &[&str]) -> Result<Vec<u8>, String> {
        let answer = self.program(name, words).answer();
        let answer = answer.map_err(|error| not_run(name, error))?;
        answer.succeeded().map_err(|error| error.to_string())
    }

    fn program(&self, name: &str, words: &[&str]) -> Program {
        Program::installed(name, self.user)
            .with(without_settings_of_others)
            .args(words)
            .in_folder(self.folder)
            .within(WITHIN)
    }
}

/// Returns the platform as the artifacts name it.
fn platform() -> Result<String, String> {
    let known = [
        ("x86_64", "amd64"),
        ("aarch64", "arm64v8"),
        ("powerpc64", "ppc64le"),
    ];
    let own = std::env::consts::ARCH;
    let (_, name) = known
        .into_iter()
        .find(|(name, _)| *name == own)
        .ok_or_else(|| format!("none is published for {own}"))?;
    // Programs built for glibc do not run on Alpine, nor the reverse.
    let is_alpine = Path::new("/etc/alpine-release").exists();
    Ok(format!("{name}{}", if is_alpine { "-alpine" } else { "" }))
}

fn not_run(program: &str, error: observed::Error) -> String {
    match error.cause.kind() {
        std::io::ErrorKind::NotFound => format!("{program} is not installed ({NEEDS})"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_build_of_a_release_is_fetched() {
        let versions = [
            "16.9.0",
            "16.10.0",
            "16.2.0-1",
            "18.0.0-beta1",
            "18.6.0",
            "17.9.0",
            "17.9.0-1",
        ];
        let lines = versions.map(|version| format!("      <version>{version}</version>\n"));
        let metadata = format!("<metadata><versions>\n{}</versions>", lines.concat());
        let check = |release: &str, expected: Option<&str>| {
            let release: Release = release.parse().unwrap();
            assert_eq!(release.newest_in(&metadata), expected, "{release}");
        };
        check("16", Some("16.10.0"));
        check("16.2", Some("16.2.0-1"));
        check("17", Some("17.9.0-1"));
        check("18", Some("18.6.0"));
        check("16.1", None);
        check("15", None);
        assert_eq!(
            "18".parse::<Release>().unwrap().newest_in("<version>1"),
            None
        );
    }

    /// Creates a repository in a directory, with one release whose archive is `content`.
    fn repository(folder: &Path, content: &[u8], checksum: &str) -> Repository {
        let artifact = format!("embedded-postgres-binaries-linux-{}", platform().unwrap());
        let release = folder.join(&artifact).join("16.1.0");
        std::fs::create_dir_all(&release).unwrap();
        let metadata = "<version>16.1.0</version>";
        std::fs::write(folder.join(&artifact).join("maven-metadata.xml"), metadata).unwrap();
        let jar = release.join(format!("{artifact}-16.1.0.jar"));
        std::fs::write(&jar, content).unwrap();
        std::fs::write(jar.with_extension("jar.sha512"), checksum).unwrap();
        Repository {
            url: format!("file://{}", folder.display()).leak(),
            protocol: "=file",
        }
    }

    #[test]
    fn what_is_not_what_was_published_is_refused_before_it_is_unpacked() {
        let check = |content: &[u8], checksum: &str, expected: &str| {
            let (published, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let repository = repository(published.path(), content, checksum);
            let work = Work {
                folder: folder.path(),
                user: None,
            };
            let release = "16".parse().unwrap();
            let refused = work.unpacked(&release, &repository).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!folder.path().join("bin").exists());
        };
        // `printf x | sha512sum`
        let of_x = "a4abd4448c49562d828115d13a1fccea927f52b4d5459297f8b43e42da89238bc13626e43dcb38d\
                    db082488927ec904fb42057443983e88585179d50551afe62";
        check(b"y", of_x, "does not match the published one");
        check(b"x", "not found", "is malformed");
        check(b"x", "", "is malformed");
        check(b"x", of_x, "running unzip: it ended");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let missing = Program::installed("/nonexistent/unzip", None).answer();
        let said = not_run("unzip", missing.unwrap_err());
        assert!(said.contains("unzip is not installed"), "{said}");
    }
}
