//! The plan of the doctor as files: written by `--emit`, and read again by `--verify`.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use linux::plain_file;
use linux::private_folder::PrivateFolder;
use model::Diagnosis;
use model::exit::ExitCode;
use placement::TargetPlacement;

use crate::failure::Failure;
use crate::output;

/// The file with the whole plan, beside the files that it is about.
const PLAN: &str = "numalab-plan.txt";
/// More than any plan has.
const BYTES_MAX: u64 = 1 << 20;

/// Writes the files of the plan below a folder, at their own paths. What is there already is not
/// overwritten: an administrator may have written it.
pub(crate) fn emit(folder: &Path, diagnosis: &Diagnosis) -> Result<(), Failure> {
    let Some(plan) = &diagnosis.plan else {
        output::talk("there is no plan: nothing is written");
        return Ok(());
    };
    let plain = report::TextOptions::default();
    let text = report::cure_plan_text(plan, &plain);
    let mut files = vec![(PathBuf::from(PLAN), &text, String::new())];
    for file in &plan.files {
        let path = Path::new(&file.path).components().skip(1).collect();
        files.push((path, &file.text, format!("; then: {}", file.then)));
    }
    for (path, text, then) in files {
        let path = folder.join(path);
        let refused = |cause: std::io::Error| {
            let message = format!("cannot write {}: {cause}", path.display());
            Failure::new(ExitCode::Usage, message).advise("name a new or an empty directory")
        };
        make_parent(&path, folder).map_err(refused)?;
        let mut file = File::create_new(&path).map_err(refused)?;
        file.write_all(text.as_bytes()).map_err(refused)?;
        output::talk(&format!("wrote {}{then}", path.display()));
    }
    if plan.files.is_empty() {
        output::talk("the plan has no file for good: its lines say what is left to do");
    }
    Ok(())
}

/// Makes the folder of a file that belongs below `top`. On the way to it is none in which another
/// user could put a link: what is written here is for root to install. Everybody may read what is
/// below `top`, as in /etc.
fn make_parent(file: &Path, top: &Path) -> std::io::Result<()> {
    let parent = file.parent().unwrap_or(top);
    PrivateFolder::open_or_make(parent).map_err(std::io::Error::other)?;
    let below = parent.ancestors().take_while(|folder| *folder != top);
    for folder in below {
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// The cure of a plan: by its name, or of the first line of a file that [`emit`] wrote.
///
/// # Errors
/// When this names no cure, and no plain file with one.
pub(crate) fn cure(text: &str) -> Result<TargetPlacement, String> {
    text.parse().or_else(|not_a_cure: String| {
        let read = plain_file::read_start(Path::new(text), BYTES_MAX);
        let read = read.map_err(|cause| format!("cannot read {text}: {cause}"))?;
        let plan = read.ok_or_else(|| format!("{not_a_cure}; nor is there a file of this name"))?;
        let cure = plan.lines().find_map(|line| {
            let (_, cure) = line.strip_prefix("plan: ")?.rsplit_once(" to ")?;
            cure.parse().ok()
        });
        cure.ok_or_else(|| format!("it has no line \"plan: … to CURE\", as {PLAN} has"))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_file_is_written_where_others_could_have_put_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let make = |file: &str| make_parent(&at(file), folder.path());
        make("new/etc/systemd/file").unwrap();
        let mode = at("new/etc").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        std::fs::create_dir(at("open")).unwrap();
        std::fs::set_permissions(at("open"), Permissions::from_mode(0o777)).unwrap();
        make("open/etc/file").unwrap_err();
        symlink(at("open"), at("new/link")).unwrap();
        make("new/link/etc/file").unwrap_err();
        assert!(!at("open/etc").exists());
    }

    #[test]
    fn a_cure_is_named_or_read_from_a_plan() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let file = folder.path().join("plan");
            std::fs::write(&file, text).unwrap();
            cure(file.to_str().unwrap())
        };
        assert_eq!(cure("near-cpus").unwrap().to_string(), "near-cpus");
        let plan = "plan: move 8 GiB of shared memory to interleave=0-1\n  now  numalab\n";
        let cured = read(plan).unwrap();
        assert_eq!(cured.to_string(), "interleave=0-1");
        let cured = read("plan: bind all threads to nodes:1\n").unwrap();
        assert_eq!(cured.to_string(), "nodes:1");
        let refused = read("plan: nothing\n").unwrap_err();
        assert!(refused.contains("plan: … to CURE"), "{refused}");
        let refused = cure(folder.path().to_str().unwrap()).unwrap_err();
        assert!(refused.contains("not a regular file"), "{refused}");
        let refused = cure("far-cpus").unwrap_err();
        assert!(refused.contains("nor is there a file"), "{refused}");
    }
}
