//! Who gave a process its CPUs and its memory: its unit's files, and the commands that started it.

use linux::{Root, proc_stat};
use model::Fact;

use crate::found::fact;

/// Folders with unit files, the one that wins first (systemd.unit(5), "Unit File Load Path").
const FOLDERS: [&str; 4] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
];
/// Settings that place a service (systemd.exec(5), systemd.resource-control(5)).
const SETTINGS: [&str; 7] = [
    "NUMAPolicy",
    "NUMAMask",
    "CPUAffinity",
    "AllowedCPUs",
    "StartupAllowedCPUs",
    "AllowedMemoryNodes",
    "StartupAllowedMemoryNodes",
];
/// Programs that place what they start.
const PROGRAMS: [&str; 5] = ["numactl", "taskset", "numad", "cgexec", "numalab"];
/// Maximum size of a unit file; longer ones are cut.
const FILE_MAX: u64 = 64 << 10;
/// Maximum number of files in a folder of drop-ins, and of ancestors.
const FILES_MAX: usize = 64;
const ANCESTORS_MAX: usize = 16;
/// Maximum length of a line or a command, in characters.
const TEXT_MAX: usize = 200;

/// The lines of a unit's files that place its processes, each with its file. What cannot be read is
/// left out.
pub(crate) fn of_unit(root: &Root, unit: &str) -> Vec<Fact> {
    let mut facts = Vec::new();
    for name in [Some(unit.to_owned()), template(unit)]
        .into_iter()
        .flatten()
    {
        let main = FOLDERS.iter().map(|folder| format!("{folder}/{name}"));
        // The first one hides the others; the file of an instance hides its template.
        let main = main.filter(|path| root.require(path).is_ok()).take(1);
        let files = main.chain(
            FOLDERS
                .iter()
                .flat_map(|folder| drop_ins(root, folder, &name)),
        );
        for path in files {
            let file = root.read_start(&path, FILE_MAX).ok().flatten();
            let text = file.as_ref().map_or("", |file| file.text());
            facts.extend(
                text.lines()
                    .filter(|line| places(line))
                    .map(|line| fact(format!("/{path}"), shown(line.trim()))),
            );
        }
    }
    facts
}

/// `postgresql@.service` for `postgresql@15-main.service`.
fn template(unit: &str) -> Option<String> {
    let (name, instance) = unit.split_once('@')?;
    let (_, kind) = instance.rsplit_once('.')?;
    Some(format!("{name}@.{kind}"))
}

fn drop_ins(root: &Root, folder: &str, name: &str) -> Vec<String> {
    let folder = format!("{folder}/{name}.d");
    let names = root.entries(&folder).ok().flatten().unwrap_or_default();
    let names = names.into_iter().filter(|name| name.ends_with(".conf"));
    names
        .take(FILES_MAX)
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

/// Whether a line of a unit file places processes: by a setting, or by a program that starts them.
fn places(line: &str) -> bool {
    let Some((key, value)) = line.split_once('=') else {
        return false;
    };
    let key = key.trim();
    let starts = ["ExecStart", "ExecStartPre"].contains(&key);
    SETTINGS.contains(&key) || (starts && value.split_whitespace().any(is_program))
}

fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    PROGRAMS.contains(&name.trim_start_matches(['-', '@', '+', '!', ':']))
}

/// The commands of its ancestors that place what they start: a shell or a wrapper that is still
/// there.
pub(crate) fn of_ancestors(root: &Root, pid: u32) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut child = pid;
    for _ in 0..ANCESTORS_MAX {
        let Ok(stat) = proc_stat::read(root, child) else {
            break;
        };
        child = stat.parent;
        let words = proc_stat::command_words(root, child).unwrap_or_default();
        // A script is one word: `sh -c "numactl … redis-server"`.
        let mut all = words.iter().flat_map(|word| word.split_whitespace());
        if all.any(is_program) {
            facts.push(fact(
                format!("/proc/{child}/cmdline"),
                shown(&words.join(" ")),
            ));
        }
        if child <= 1 {
            break;
        }
    }
    facts
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let on_one_line = |it: char| if it.is_control() { ' ' } else { it };
    text.chars().take(TEXT_MAX).map(on_one_line).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn root(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        (directory, root)
    }

    #[test]
    fn the_files_of_a_unit_and_of_its_template_are_read() {
        let (_directory, root) = root(&[
            (
                "usr/lib/systemd/system/postgresql@.service",
                "[Service]\nExecStart=-/usr/bin/numactl --membind=0 /usr/bin/pg_ctlcluster %i\n",
            ),
            (
                "etc/systemd/system/postgresql@15-main.service.d/numa.conf",
                "[Service]\n NUMAPolicy = bind\nNUMAMask=0\n# CPUAffinity=1\nNice=1\n",
            ),
            (
                "etc/systemd/system/postgresql@15-main.service.d/old.conf.off",
                "CPUAffinity=1\n",
            ),
            (
                "usr/lib/systemd/system/other.service",
                "[Service]\nCPUAffinity=3\n",
            ),
        ]);
        let found = of_unit(&root, "postgresql@15-main.service");
        let found: Vec<_> = found.iter().map(|it| (&*it.source, &*it.value)).collect();
        let drop_in = "/etc/systemd/system/postgresql@15-main.service.d/numa.conf";
        let expected = [
            (drop_in, "NUMAPolicy = bind"),
            (drop_in, "NUMAMask=0"),
            (
                "/usr/lib/systemd/system/postgresql@.service",
                "ExecStart=-/usr/bin/numactl --membind=0 /usr/bin/pg_ctlcluster %i",
            ),
        ];
        assert_eq!(found, expected);
        assert_eq!(of_unit(&root, "missing.service"), []);
        assert_eq!(of_unit(&root, "..service"), []);
    }

    #[test]
    fn the_file_of_the_administrator_hides_that_of_the_package() {
        let (_directory, root) = root(&[
            ("etc/systemd/system/redis.service", "CPUAffinity=0\n"),
            ("usr/lib/systemd/system/redis.service", "CPUAffinity=1\n"),
        ]);
        let found = of_unit(&root, "redis.service");
        assert_eq!(
            found,
            [fact("/etc/systemd/system/redis.service", "CPUAffinity=0")]
        );
    }

    #[test]
    fn commands_of_ancestors_are_found() {
        let stat = |pid: u32, parent: u32| {
            let zeros = "0 ".repeat(40);
            format!("{pid} (x) S {parent} 1 1 0 -1 0 {zeros}")
        };
        let (_directory, root) = root(&[
            ("proc/30/stat", &stat(30, 20)),
            ("proc/20/stat", &stat(20, 1)),
            (
                "proc/20/cmdline",
                "sh\0-c\0numactl --membind=0\nredis-server\0",
            ),
            ("proc/1/stat", &stat(1, 0)),
            ("proc/1/cmdline", "/sbin/init\0"),
        ]);
        let expected = fact("/proc/20/cmdline", "sh -c numactl --membind=0 redis-server");
        assert_eq!(of_ancestors(&root, 30), [expected]);
        assert_eq!(of_ancestors(&root, 1), []);
        assert_eq!(of_ancestors(&root, 99), []);
    }
}
