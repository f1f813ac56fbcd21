//! The CPUs that a cpuset allows (cpuset(7); kernel, admin-guide/cgroup-v2.rst).

use model::CpuSet;

use crate::{Error, Root};

/// The files that say so, the first one that is there: of v2, of v1 since Linux 3.17, and of v1.
const FILES: [&str; 3] = [
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
    "cpuset.cpus",
];

/// Reads the CPUs of the cpuset of this directory, relative to the root; `None` where no file says
/// which these are.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root, directory: &str) -> Result<Option<CpuSet>, Error> {
    for name in FILES {
        let Some(file) = root.read_optional(&format!("{directory}/{name}"))? else {
            continue;
        };
        let text = file.text().trim();
        let cpus = text.parse::<CpuSet>();
        let cpus = cpus.map_err(|_| file.malformed(1, "a list of CPUs", text))?;
        // Empty in v2: that of its parent, which the effective file would have said.
        return Ok((!cpus.is_empty()).then_some(cpus));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_cpus_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        let cpus = || {
            read(&root, "group").map(|cpus| cpus.map_or("unknown".to_owned(), |it| it.to_string()))
        };
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join("group")).unwrap();
            std::fs::write(folder.path().join("group").join(name), text).unwrap();
        };
        assert_eq!(cpus().unwrap(), "unknown");
        write("cpuset.cpus", "\n");
        assert_eq!(cpus().unwrap(), "unknown");
        write("cpuset.cpus", "0-3\n");
        assert_eq!(cpus().unwrap(), "0-3");
        write("cpuset.cpus.effective", "0-1\n");
        assert_eq!(cpus().unwrap(), "0-1");
        write("cpuset.cpus.effective", "x\n");
        cpus().unwrap_err();
    }
}
