//! The directory of one running guest: its boot files, its commands, and their output.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::options::{Options, TESTS};
use crate::arguments::CgroupVersion;
use crate::repository;

const MAIN_SCRIPT: &str = include_str!("scripts/main.sh");

/// The directory; removed when dropped.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Creates a directory with the guest's settings and commands, and removes those that killed
    /// tasks left behind.
    pub(super) fn create(options: &Options, commands: &[Vec<String>]) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let parent = repository::guest().join("runs");
        remove_abandoned(&parent);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let run = Self {
            path: parent.join(format!("{}-{number}", std::process::id())),
        };
        for directory in [run.control(), run.programs()] {
            fs::create_dir_all(&directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
        }
        run.write("main.sh", MAIN_SCRIPT)?;
        run.write("settings.sh", &settings(options))?;
        for (number, command) in commands.iter().enumerate() {
            let directory = run.command(number);
            fs::create_dir_all(&directory)
                .with_context(|| format!("cannot create {}", directory.display()))?;
            let script = format!("exec {}\n", quoted(command));
            run.write(&format!("commands/{number:03}/command.sh"), &script)?;
            run.write(&format!("commands/{number:03}/stdout"), "")?;
            run.write(&format!("commands/{number:03}/stderr"), "")?;
        }
        for binary in &options.binaries {
            let Some(name) = binary.file_name() else {
                bail!("{} does not name a program", binary.display());
            };
            copy(binary, &run.programs().join(name))?;
        }
        if let Some(tests) = &options.tests {
            copy(tests, &run.programs().join(TESTS))?;
        }
        Ok(run)
    }

    /// Returns the directory that the guest sees as /run/guest.
    pub(super) fn control(&self) -> PathBuf {
        self.path.join("control")
    }

    /// Returns the directory that the guest sees as /run/programs.
    pub(super) fn programs(&self) -> PathBuf {
        self.path.join("programs")
    }

    /// Returns the file with the guest's console output.
    pub(super) fn console(&self) -> PathBuf {
        self.path.join("console")
    }

    /// Returns the file with QEMU's own messages.
    pub(super) fn qemu_messages(&self) -> PathBuf {
        self.path.join("qemu-messages")
    }

    /// Returns the file with the first root file system of the guest's kernel.
    pub(super) fn initial_ramdisk(&self) -> PathBuf {
        self.path.join("initial-ramdisk")
    }

    /// Returns the directory of one command: stdout, stderr, status.
    pub(super) fn command(&self, number: usize) -> PathBuf {
        self.control().join("commands").join(format!("{number:03}"))
    }

    /// Returns the file with the exit status of one command, which exists once it has ended.
    pub(super) fn status(&self, number: usize) -> PathBuf {
        self.command(number).join("status")
    }

    /// Returns the file that the guest writes when it reaches its first command.
    pub(super) fn booted(&self) -> PathBuf {
        self.control().join("booted")
    }

    /// Whether the guest has reached its first command.
    pub(super) fn is_booted(&self) -> bool {
        self.booted().exists()
    }

    /// Returns the file that a guest that has booted writes every 20 s.
    pub(super) fn alive(&self) -> PathBuf {
        self.control().join("alive")
    }

    /// Returns why the guest gave up, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        let text = fs::read_to_string(self.control().join("failure")).ok()?;
        (!text.trim().is_empty()).then(|| text.trim().to_string())
    }

    /// Returns what the processes of the guest did when a command had taken too long, if one did.
    pub(super) fn late(&self) -> Option<String> {
        let text = fs::read(self.control().join("late")).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.control().join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next run tries again.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of tasks that are gone. They are named by process id.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_string_lossy().split('-').next().map(str::to_string);
        let is_alive = process.is_some_and(|id| Path::new("/proc").join(id).exists());
        if !is_alive {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn copy(program: &Path, to: &Path) -> Result<()> {
    fs::copy(program, to)
        .with_context(|| format!("cannot copy {} for the guest", program.display()))?;
    Ok(())
}

fn settings(options: &Options) -> String {
    let cgroup = match options.cgroup {
        CgroupVersion::V1 => "v1",
        CgroupVersion::V2 => "v2",
    };
    let share = if options.share.is_some() { "yes" } else { "no" };
    let cpus: Vec<_> = options
        .shape
        .offline_cpus
        .iter()
        .map(u32::to_string)
        .collect();
    let seconds = match options.command_timeout {
        Duration::MAX => String::new(),
        limit => limit.as_secs().to_string(),
    };
    format!(
        "cgroup={cgroup}\nshare={share}\noffline_cpus='{}'\nseconds={seconds}\n",
        cpus.join(" ")
    )
}

/// Quotes words so that the shell reads them back unchanged.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_command_unchanged() {
        let words = ["sh", "-c", "echo \"$HOME\" 'a'"].map(String::from);
        assert_eq!(quoted(&words), r#"'sh' '-c' 'echo "$HOME" '\''a'\'''"#);
    }

    #[test]
    fn settings_name_the_cpus_to_switch_off() {
        let options = Options::of(super::super::find("sparse").unwrap());
        assert_eq!(
            settings(&options),
            "cgroup=v2\nshare=no\noffline_cpus='1'\nseconds=\n"
        );
    }
}
