//! A numalab for one test: its state folder, its processes, and checks that nothing is left of
//! them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::RunHeader;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use store::Store;
use tempfile::TempDir;

use crate::finished::Finished;
use crate::leftovers;
use crate::patience::{until, until_within};
use crate::processes::{self, Process, Role};
use crate::turns::wait_for_groups;
use crate::user::{User, open_to_all};

/// Killed processes may take this long to disappear.
const GONE_WITHIN: Duration = Duration::from_secs(20);

/// The last-level cache size that tests plan for: multiples of it stay small even where a virtual
/// machine sees the cache of its host. A test about this size sets its own.
pub(crate) const CACHE: &str = "512KiB";
/// The option that sets it.
pub(crate) const CACHE_OPTION: &str = "--last-level-cache";

/// The variable that names another numalab than the one that cargo built: guests have the release
/// in their PATH.
const BINARY: &str = "NUMALAB_BINARY";

/// Returns the numalab that is tested.
pub(crate) fn binary() -> PathBuf {
    let asked = std::env::var_os(BINARY).map(PathBuf::from);
    asked.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_numalab")))
}

/// A numalab for one test.
pub(crate) struct Laboratory {
    folder: TempDir,
    launcher: Vec<String>,
    binary: PathBuf,
    segments_before: BTreeSet<String>,
    names_before: BTreeSet<String>,
    coordinators: RefCell<Vec<u32>>,
    last_command: RefCell<Vec<String>>,
    minds_others: bool,
}

impl Laboratory {
    /// Creates a laboratory of the user who runs the tests.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("state")).unwrap();
        Laboratory {
            folder,
            launcher: Vec::new(),
            binary: binary(),
            segments_before: leftovers::segments_nobody_uses(),
            names_before: leftovers::named_shared_memory(),
            coordinators: RefCell::default(),
            last_command: RefCell::default(),
            minds_others: false,
        }
    }

    /// Creates a laboratory of another user, who can read a copy of the binary and write the state
    /// folder.
    pub(crate) fn of(user: User) -> Self {
        let mut laboratory = Self::new();
        open_to_all(laboratory.folder.path());
        user.owns(&laboratory.state());
        laboratory.launcher = user.launcher();
        laboratory.use_a_copy();
        laboratory
    }

    /// Runs a copy of the binary from now on; returns its path.
    pub(crate) fn use_a_copy(&mut self) -> PathBuf {
        let copy = self.folder.path().join("numalab");
        // Not copied by this process: a child that another thread starts at this moment would
        // inherit the copy open for writing, and a file open for writing cannot be executed
        // (ETXTBSY).
        let mut copying = Command::new("cp");
        let ended = copying.arg(&self.binary).arg(&copy).status().unwrap();
        assert!(ended.success(), "{ended}");
        open_to_all(&copy);
        self.binary.clone_from(&copy);
        copy
    }

    /// Starts numalab behind a program that executes it in the end, such as `prlimit`.
    pub(crate) fn launch_behind(&mut self, words: &[&str]) {
        self.launcher
            .extend(words.iter().map(|&word| word.to_owned()));
    }

    /// Starts numalab and all its launchers behind another such program.
    pub(crate) fn launch_all_behind(&mut self, words: &[&str]) {
        let words = words.iter().map(|&word| word.to_owned());
        self.launcher.splice(0..0, words);
    }

    /// Starts numalab without any launcher from now on.
    pub(crate) fn launch_directly(&mut self) {
        self.launcher.clear();
    }

    /// Makes runs refuse a busy machine, as they do for users. Tests measure in parallel, so by
    /// default runs get `--anyway`.
    pub(crate) fn mind_others(&mut self) {
        self.minds_others = true;
    }

    /// Returns its own folder, in which its commands run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the parent of the state folder, the value of `XDG_STATE_HOME`.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Returns the path of the store of runs.
    pub(crate) fn store(&self) -> PathBuf {
        self.state().join("numalab/runs.sqlite")
    }

    /// Writes a file; returns its path as an argument.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns the command with these arguments, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        wait_for_groups(arguments);
        let binary = self.binary.to_str().unwrap().to_owned();
        let mut words = self.launcher.iter().chain([&binary]);
        let mut command = Command::new(words.next().unwrap());
        let added = self.added(arguments);
        command.args(words).args(arguments).args(&added);
        let all = arguments.iter().chain(&added);
        *self.last_command.borrow_mut() = all.map(|&word| word.to_owned()).collect();
        command.env("XDG_STATE_HOME", self.state());
        command.current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    /// Returns the options that tests need but users would not pass.
    fn added(&self, arguments: &[&str]) -> Vec<&'static str> {
        let name = arguments.first().copied().unwrap_or_default();
        let has_any = |options: &[&str]| {
            let names = arguments.iter().filter_map(|it| it.split('=').next());
            names.into_iter().any(|it| options.contains(&it))
        };
        let mut added = Vec::new();
        if name == "run" && !self.minds_others && !has_any(&["--hold"]) {
            added.push("--anyway");
        }
        let plans = ["run", "list", "latency", "bandwidth"].contains(&name);
        if plans
            && !has_any(&[
                "--from",
                "--distances",
                "--connect",
                "--help",
                "-h",
                CACHE_OPTION,
            ])
        {
            added.extend([CACHE_OPTION, CACHE]);
        }
        added
    }

    /// Starts a run that only a signal ends.
    pub(crate) fn start_endless(&self, experiment: &str) -> UnderWay<'_> {
        let limits = "--json --trials 1000 --seconds 0.4".split(' ');
        let words: Vec<&str> = ["run", experiment].into_iter().chain(limits).collect();
        self.start(&words)
    }

    /// Starts numalab as a shell does, in its own process group.
    pub(crate) fn start(&self, arguments: &[&str]) -> UnderWay<'_> {
        let number = self.coordinators.borrow().len();
        let path = |stream| self.folder.path().join(format!("{number}.{stream}"));
        let (stdout, stderr) = (path("stdout"), path("stderr"));
        let child = self
            .command(arguments)
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        self.coordinators.borrow_mut().push(child.id());
        UnderWay {
            laboratory: self,
            child,
            stdout,
            stderr,
        }
    }

    /// Runs numalab to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    /// Runs numalab until a trial counts: in a window of a fraction of a second, a busy machine may
    /// give a session no CPU at all.
    pub(crate) fn run_until_a_trial_counts(&self, arguments: &[&str]) -> Finished {
        until("a trial counts", || {
            let finished = self.run(arguments);
            (finished.status.code() != Some(6)).then_some(finished)
        })
    }

    /// Returns the document of a command that must succeed.
    #[track_caller]
    pub(crate) fn document(&self, arguments: &[&str]) -> Value {
        self.run(arguments).with_code(0).document()
    }

    /// Returns the newest run; `last` is the newest with a trial.
    #[track_caller]
    pub(crate) fn newest_run(&self) -> Value {
        let history = self.document(&["history", "--limit", "1", "--json"]);
        let id = history["runs"][0]["id"].as_str().unwrap();
        self.document(&["show", id, "--json"])
    }

    /// Returns the pids of the live processes in this role, in the order of their start.
    pub(crate) fn pids(&self, role: Role) -> Vec<u32> {
        let found = processes::of_state_folder(&self.state()).into_iter();
        let in_role = found.filter(|process| process.role == role);
        in_role.map(|Process { pid, .. }| pid).collect()
    }

    /// Returns the existing processor groups of this numalab.
    pub(crate) fn groups(&self) -> Vec<PathBuf> {
        leftovers::groups_of(&self.coordinators.borrow())
    }

    /// Asserts that no process is left of anything started here.
    #[track_caller]
    pub(crate) fn no_process_is_left(&self) {
        let look = || processes::of_state_folder(&self.state());
        let gone = until_within(GONE_WITHIN, || look().is_empty().then_some(()));
        assert!(gone.is_some(), "left behind: {:?}", look());
    }

    /// Asserts that no process and no shared memory is left of anything started here.
    #[track_caller]
    pub(crate) fn no_process_or_memory_is_left(&self) {
        self.no_process_is_left();
        let look = || {
            let segments = leftovers::segments_nobody_uses();
            let segments: Vec<_> = segments
                .difference(&self.segments_before)
                .cloned()
                .collect();
            let names = leftovers::named_shared_memory();
            let names: Vec<_> = names.difference(&self.names_before).cloned().collect();
            (segments, names)
        };
        let nothing = (vec![], vec![]);
        let gone = until_within(GONE_WITHIN, || (look() == nothing).then_some(()));
        assert!(gone.is_some(), "left behind: {:?}", look());
    }

    /// Asserts that nothing at all is left of anything started here.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self) {
        self.no_process_or_memory_is_left();
        assert_eq!(self.groups(), Vec::<PathBuf>::new());
        let listed = self.run(&["undo", "--list"]).with_code(0);
        assert_eq!(listed.stdout, "no changes in force\n");
    }
}

impl Drop for Laboratory {
    /// A test that fails says what it ran last, and must not disturb the next one.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let words = self.last_command.borrow().join(" ");
            eprintln!("the last command: numalab {words}");
        }
        for process in processes::of_state_folder(&self.state()) {
            kill(process.pid);
        }
        let _ = self.command(&["undo"]).output();
    }
}

/// A numalab that was started; killed if it is dropped before its end.
pub(crate) struct UnderWay<'l> {
    laboratory: &'l Laboratory,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl<'l> UnderWay<'l> {
    /// Returns the laboratory that started it.
    pub(crate) fn laboratory(&self) -> &'l Laboratory {
        self.laboratory
    }

    /// Returns what it has written to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Returns what it has written to stdout so far.
    pub(crate) fn stdout(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap()
    }

    /// Sends a signal to this process alone.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid(self.child.id()), signal).unwrap();
    }

    /// Stops this process alone, until it is sent `SIGCONT`; returns when it stands still or has
    /// ended.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::STOP);
        let status = format!("/proc/{}/status", self.pid());
        until("it is stopped", || {
            let status = fs::read_to_string(&status).unwrap();
            (status.contains("\nState:\tT") || self.has_ended()).then_some(())
        });
    }

    /// Waits until this many trials of the laboratory's newest run are stored.
    pub(crate) fn until_trials_are_stored(&mut self, trials: u32) {
        let store = self.laboratory.store();
        until("trials are stored", || {
            assert!(!self.has_ended(), "it ended early: {}", self.stderr());
            (stored_trials(&store) >= trials).then_some(())
        });
    }

    /// Kills a process of a trial, so much later than it is found, until a trial has failed of it:
    /// on a busy machine the trial may be over by then, or its failure not be stored yet, so more
    /// than one may fail.
    pub(crate) fn kill_in_a_trial(&mut self, later: Duration, find: impl Fn(&mut Self) -> u32) {
        let store = self.laboratory.store();
        let newest = || until("the store is read", || newest_run(&store));
        let failed = newest().trials_failed;
        until("a trial fails", || {
            let process = find(self);
            std::thread::sleep(later);
            kill(process);
            self.until_trials_are_stored(trials(&newest()) + 1);
            (newest().trials_failed > failed).then_some(())
        });
    }

    /// Waits until exactly this many live processes of the laboratory are in this role.
    pub(crate) fn until_there_are(&mut self, count: usize, role: Role) -> Vec<u32> {
        until("processes are there", || {
            assert!(!self.has_ended(), "it ended early: {}", self.stderr());
            let pids = self.laboratory.pids(role);
            (pids.len() == count).then_some(pids)
        })
    }

    /// Sends a signal to its process group, as the terminal does with Ctrl-C.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(pid(self.child.id()), signal).unwrap();
    }

    /// Kills this process alone, with a signal that it cannot catch, and leaves it for
    /// [`Self::finish`].
    pub(crate) fn kill(&self) {
        kill(self.child.id());
    }

    /// Returns its process id, if its launchers execute it in the same process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it ends.
    pub(crate) fn finish(mut self) -> Finished {
        let status = until("numalab ends", || self.child.try_wait().unwrap());
        Finished {
            status,
            stdout: fs::read_to_string(&self.stdout).unwrap(),
            stderr: self.stderr(),
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a process with SIGKILL. One that is gone already is no error.
pub(crate) fn kill(process: u32) {
    let _ = kill_process(pid(process), Signal::KILL);
}

/// Converts an id for the system calls.
pub(crate) fn pid(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).unwrap()).unwrap()
}

/// Returns the number of stored trials of the newest run, whatever their outcome; 0 while the store
/// is being created.
fn stored_trials(store: &Path) -> u32 {
    newest_run(store).as_ref().map_or(0, trials)
}

fn trials(run: &RunHeader) -> u32 {
    run.trials_valid + run.trials_invalid + run.trials_failed
}

/// Returns the newest run; `None` while the store is being created, or written.
fn newest_run(store: &Path) -> Option<RunHeader> {
    let headers = Store::open_existing(store).and_then(|store| store.history(1));
    headers.ok()?.into_iter().next()
}
