//! `numalab capture`: saves in one file what is needed to judge a machine, and the memory of a
//! database on it, elsewhere.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use linux::{Root, proc_stat};
use model::exit::ExitCode;
use model::{ByteSize, counted};
use residency::InspectError;
use residency::instances::{self, Member, Target};

use crate::arguments::values::target_of;
use crate::capture::{Manifest, Packer};
use crate::failure::Failure;
use crate::output;

/// Options of `numalab capture`.
#[derive(Debug, Args)]
pub(crate) struct CaptureArguments {
    /// Archive to write; `-` for stdout.
    #[arg(value_name = "FILE.tar.zst", required_unless_present = "script")]
    pub file: Option<PathBuf>,
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME [default: only the machine].
    pub target: Option<String>,
    /// Instead print a shell script that prints what `numalab doctor --from` reads, for hosts
    /// without numalab: sh capture.sh PID > host.txt
    #[arg(long, conflicts_with_all = ["file", "target"])]
    pub script: bool,
}

/// Prints what a capture has on hosts without numalab.
const SCRIPT: &str = include_str!("../capture/capture.sh");

/// Reads the files and writes the archive, or prints the script.
pub(crate) fn run(arguments: &CaptureArguments) -> Result<(), Failure> {
    let Some(file) = &arguments.file else {
        return output::data(SCRIPT);
    };
    let root = Root::live();
    let named = |text| target_of(&root, text);
    let target = arguments.target.as_deref().map(named).transpose()?;
    let members = match &target {
        Some(target) => instances::find(&root, target)?,
        None => Vec::new(),
    };
    let failed = |cause: io::Error| cannot_write(file, &cause);
    let manifest = if file == Path::new("-") {
        let packed = pack(&root, target.as_ref(), &members, io::stdout().lock());
        let (_, manifest) = packed.map_err(failed)?;
        refuse_unseen(&root, &manifest, &members)?;
        manifest
    } else {
        // An existing file of this name stays until the new one is complete.
        let partial = partial_file(file).map_err(failed)?;
        let packed = pack(&root, target.as_ref(), &members, partial);
        let (partial, manifest) = packed.map_err(failed)?;
        refuse_unseen(&root, &manifest, &members)?;
        let persisted = partial.persist(file);
        persisted.map_err(|error| failed(error.error))?;
        manifest
    };
    output::talk(&summary(file, &manifest));
    Ok(())
}

/// Creates a file beside the requested one, with the permissions of an ordinary new file.
fn partial_file(file: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    tempfile::Builder::new()
        .prefix(".numalab-capture-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
}

fn pack<W: Write>(
    root: &Root,
    target: Option<&Target>,
    members: &[Member],
    to: W,
) -> io::Result<(W, Manifest)> {
    let now = jiff::Zoned::now()
        .strftime("%Y-%m-%dT%H:%M:%S%:z")
        .to_string();
    let manifest = Manifest::new(now, target.map(Target::to_string), members.len());
    let mut packer = Packer::new(to, manifest)?;
    let mut paths = residency::capture::paths_of_machine(root);
    paths.extend(target.map_or(Vec::new(), |target| {
        residency::capture::paths_of_processes(root, target, members)
    }));
    for path in paths {
        if let Some(entry) = residency::capture::read(root, &path) {
            packer.add(entry)?;
        }
    }
    packer.finish()
}

/// Refuses a capture of processes that have all ended or cannot be read: it would say nothing about
/// them.
fn refuse_unseen(root: &Root, manifest: &Manifest, members: &[Member]) -> Result<(), Failure> {
    let processes = members.len();
    if processes == 0 {
        return Ok(());
    }
    let target = manifest.target.clone().unwrap_or_default();
    let runs = |member: &Member| proc_stat::still_runs(root, &member.stat);
    if !members.iter().any(runs) {
        return Err(InspectError::Ended { target, processes }.into());
    }
    let missing = manifest.missing.iter();
    let refused = missing.filter(|missing| missing.path.ends_with("/numa_maps"));
    match refused.count() < processes {
        true => Ok(()),
        false => Err(InspectError::NotPermitted { target, processes }.into()),
    }
}

fn cannot_write(file: &Path, cause: &io::Error) -> Failure {
    let exit_code = match cause.kind() {
        io::ErrorKind::PermissionDenied => ExitCode::NotPermitted,
        _ => ExitCode::Usage,
    };
    Failure::new(
        exit_code,
        format!("cannot write {}: {cause}", file.display()),
    )
    .advise("FILE is the archive to write, such as machine.tar.zst; `-` is stdout")
}

fn summary(file: &Path, manifest: &Manifest) -> String {
    let of_target = manifest.target.as_ref().map_or(String::new(), |target| {
        format!(
            ", including {} of {target}",
            counted(manifest.processes, "process")
        )
    });
    let mut text = format!(
        "{}: {} with {}{of_target}",
        file.display(),
        counted(manifest.files, "file"),
        ByteSize(manifest.files_bytes)
    );
    if let Some(first) = manifest.missing.first() {
        let (count, path, reason) = (manifest.missing.len(), &first.path, &first.reason);
        text += &format!("; {count} could not be read, first {path}: {reason}");
    }
    text
}
