//! A running target: puts it under placements through the journal, takes them back, and looks at
//! its counters, while it watches that nobody else interferes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use journal::{Claim, Journal, Kinds, claim_path, deadline};
use linux::proc_stat::{self, ProcessStat};
use linux::proc_status::{self, Allowed};
use linux::{Root, capabilities};
use model::{ByteSize, CpuSet, Topology, TryEnd, TryLine};
use placement::{Destination, Dose, TargetQuota, thread_cpus};
use relocation::Pace;
use residency::instances::{self, Member, Target};

use crate::cpu_time::CpuTime;
use crate::planned::Planned;
use crate::sample::{Halt, Sample, Subject};
use crate::{Error, Load, Tried, Watched};

/// How long to sleep between two looks at whether to end.
const NAP: Duration = Duration::from_millis(20);
/// How often to take back what does not go back at once, as a page that is being written.
const ATTEMPTS: u32 = 5;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);
/// Memory that may stay where it was under a placement that counts as honoured.
const STAYING_MAX: f64 = 0.01;

/// What a session works on, and what it tells.
pub struct Scene<'a> {
    /// The machine.
    pub root: &'a Root,
    /// Its nodes.
    pub topology: &'a Topology,
    /// The target.
    pub target: &'a Target,
    /// The placements by their numbers; the first is the current one.
    pub placements: &'a [Tried],
    /// Moves there and back move at most so many bytes in a second.
    pub bytes_per_s: Option<u64>,
    /// Where changes are recorded.
    pub journal: &'a Journal,
    /// The kinds of changes that this program can undo.
    pub kinds: Kinds,
    /// Whether the user wants it to end.
    pub is_cancelled: &'a dyn Fn() -> bool,
    /// Told what happens, as it happens, with the seconds since the begin.
    pub tell: &'a dyn Fn(f64, &str),
}

/// A running target in a session.
pub struct Live<'a> {
    scene: Scene<'a>,
    counters: Watched,
    cpu_time: CpuTime,
    began: Instant,
    is_in: usize,
    /// Switches to a placement.
    switches: u64,
    /// Processes that no other process of the target started, with what they may use.
    first: Vec<(ProcessStat, Allowed)>,
    /// CPUs that threads are bound to now; `None`: as they were.
    bound: Option<CpuSet>,
    /// The target's quota, if a placement has one.
    quota: Option<Quota>,
    is_silent: bool,
    log: Vec<TryLine>,
    _claims: Vec<Claim>,
}

/// The quota of a target: where, and what it is as we leave it.
struct Quota {
    of: TargetQuota,
    was: Option<f64>,
    set: Option<f64>,
}

impl<'a> Live<'a> {
    /// Begins: nobody else may try the same target until this is dropped.
    ///
    /// # Errors
    /// When the target has no process, or another numalab tries it.
    pub fn begin(scene: Scene<'a>, counters: Watched) -> Result<Self, Error> {
        let members = instances::find(scene.root, scene.target)?;
        let pids: BTreeSet<u32> = members.iter().map(|it| it.stat.pid).collect();
        let mut first = Vec::new();
        let mut claims = Vec::new();
        for Member { stat, .. } in members {
            if !pids.contains(&stat.parent) {
                // Not what changes of its threads or memory lock, which begin and end meanwhile.
                let lock = PathBuf::from(format!("/proc/{}/stat", stat.pid));
                claims.extend(claim_path(&lock, deadline())?);
                first.push((stat.clone(), proc_status::allowed(scene.root, stat.pid)?));
            }
        }
        let has_quota = scene.placements.iter().any(|it| it.quota.is_some());
        let quota = has_quota.then(|| TargetQuota::of(scene.root, &pids));
        let quota = quota.transpose()?.map(|of| Quota {
            was: of.now(),
            set: None,
            of,
        });
        Ok(Live {
            cpu_time: CpuTime::of(scene.root, &pids),
            scene,
            counters,
            began: Instant::now(),
            is_in: 0,
            switches: 0,
            first,
            bound: None,
            quota,
            is_silent: false,
            log: Vec::new(),
            _claims: claims,
        })
    }

    /// What threads and CPUs have done so far.
    ///
    /// # Errors
    /// When the target has ended.
    pub fn load(&self) -> Result<Load, Error> {
        let members = instances::find(self.scene.root, self.scene.target)?;
        let pids: Vec<u32> = members.iter().map(|it| it.stat.pid).collect();
        Ok(Load::read(self.scene.root, &pids, self.now_s()))
    }

    /// Ends: leaves placement `keep` in force, or takes back everything. Returns what happened.
    pub fn finish(mut self, keep: Option<usize>) -> (Vec<TryLine>, Result<(), Halt>) {
        let ended = match keep {
            Some(placement) => self.put(placement),
            None => self.take_back(),
        };
        (self.log, ended)
    }

    fn make(&mut self, placement: usize) -> Result<(), Halt> {
        let scene = &self.scene;
        let tried = &scene.placements[placement];
        let began = Instant::now();
        let mut done = Vec::new();
        if let Some(cpus) = tried.cpus_on(scene.topology)? {
            let members = instances::find(scene.root, scene.target)?;
            let processes: Vec<ProcessStat> = members.into_iter().map(|it| it.stat).collect();
            let (target, journal) = (scene.target.to_string(), scene.journal);
            thread_cpus::bind(scene.root, journal, &target, &processes, &cpus)?;
            done.push(format!("threads on CPUs {cpus}"));
            self.bound = Some(cpus);
        }
        if let (Some(limit), Some(quota)) = (tried.quota, &mut self.quota) {
            quota.of.set(scene.journal, limit.cpus())?;
            done.push(format!("CPU quota set to {}", limit.cpus()));
            quota.set = quota.of.now();
        }
        if let Some(memory) = &tried.memory {
            let moved = self.move_memory(tried, memory)?;
            done.push(format!("{} moved", ByteSize(moved)));
        }
        if !done.is_empty() {
            let (seconds, done) = (began.elapsed().as_secs_f64(), done.join(", "));
            self.say(format!("to {tried}: {done} in {seconds:.1} s"));
        }
        Ok(())
    }

    /// Moves memory, and returns the bytes.
    fn move_memory(&self, tried: &Tried, to: &Destination) -> Result<u64, Halt> {
        let scene = &self.scene;
        let dose = tried.dose.map(|dose| Dose {
            seed: dose.seed.wrapping_add(self.switches << 32),
            ..dose
        });
        let plan = Planned::of(scene.root, scene.target, scene.topology, (to, dose), true)?;
        let names = (scene.target.to_string(), to.to_string());
        let mut pace = Pace {
            bytes_per_s: scene.bytes_per_s,
            of_others: capabilities::may_move_pages_of_others(scene.root),
            stop: scene.is_cancelled,
            watch: &mut |_| {},
        };
        let Some(claims) = &plan.claims else {
            return Ok(0);
        };
        let moved = relocation::carry_out(
            scene.root,
            &plan.plan,
            claims,
            (&names.0, &names.1),
            scene.journal,
            &mut pace,
        )?;
        if moved.is_interrupted {
            return Err(interrupted());
        }
        if moved.has_target_ended {
            return Err(target_ended(scene.target));
        }
        let asked = plan.plan.bytes_to_move();
        let refused: u64 = moved.sent.refused.values().sum();
        if refused as f64 > STAYING_MAX * asked as f64 {
            let why = moved.sent.refused.keys().map(|it| relocation::reason(*it));
            return Err(Halt::Failed(Error::NotHonoured {
                placement: tried.to_string(),
                reason: format!(
                    "{} of {} stay where they were: {}",
                    ByteSize(refused),
                    ByteSize(asked),
                    why.collect::<Vec<_>>().join("; ")
                ),
            }));
        }
        Ok(asked - refused)
    }

    /// Undoes what this process has changed.
    fn take_back(&mut self) -> Result<(), Halt> {
        let was_in = std::mem::take(&mut self.is_in);
        let began = Instant::now();
        let root = self.scene.root;
        let is_ours = |entry: &journal::Entry| entry.made_by.is_this_process(root);
        let mut failures = Vec::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(BETWEEN_ATTEMPTS);
            }
            let Scene {
                journal,
                kinds,
                bytes_per_s,
                ..
            } = self.scene;
            let undone = journal::undo_at(journal, kinds, is_ours, false, bytes_per_s)?;
            let failed = undone.into_iter().filter_map(|undone| undone.failure);
            failures = failed.map(|failure| failure.to_string()).collect();
            if failures.is_empty() {
                break;
            }
        }
        self.bound = None;
        if let Some(quota) = &mut self.quota {
            quota.set = None;
        }
        if !failures.is_empty() {
            // The next attempt, at the end, undoes what is left.
            self.is_in = was_in;
            return Err(Halt::End(TryEnd::Vetoed, failures.join("; ")));
        }
        if was_in != 0 && self.scene.placements[was_in] != Tried::default() {
            let seconds = began.elapsed().as_secs_f64();
            self.say(format!("back to current in {seconds:.1} s"));
        }
        Ok(())
    }

    /// Ends the session if the user, the target or another process does.
    fn check(&self) -> Result<(), Halt> {
        if (self.scene.is_cancelled)() {
            return Err(interrupted());
        }
        for (process, was) in &self.first {
            let now = proc_status::allowed(self.scene.root, process.pid);
            let (true, Ok(now)) = (proc_stat::still_runs(self.scene.root, process), now) else {
                return Err(target_ended(self.scene.target));
            };
            let cpus = self.bound.as_ref().unwrap_or(&was.cpus);
            let of = format!("of process {}", process.pid);
            let (nodes, left) = (now.memory_nodes.to_string(), was.memory_nodes.to_string());
            is_as_left(
                &format!("the CPUs {of}"),
                &now.cpus.to_string(),
                &cpus.to_string(),
            )?;
            is_as_left(&format!("the memory nodes {of}"), &nodes, &left)?;
        }
        if let Some(quota) = &self.quota {
            let text = |cpus: Option<f64>| cpus.map_or("none".to_owned(), |it| it.to_string());
            let (now, left) = (quota.of.now(), quota.set.or(quota.was));
            is_as_left("the limit of its CPU time", &text(now), &text(left))?;
        }
        Ok(())
    }
}

impl Subject for Live<'_> {
    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn put(&mut self, placement: usize) -> Result<(), Halt> {
        if placement == self.is_in {
            return Ok(());
        }
        if self.is_in != 0 {
            self.take_back()?;
        }
        if placement != 0 {
            // First, so that what fails in the middle is taken back at the end.
            self.is_in = placement;
            self.switches += 1;
            self.make(placement)?;
        }
        Ok(())
    }

    fn sample(&mut self, at_s: f64) -> Result<Sample, Halt> {
        self.check()?;
        while self.now_s() < at_s {
            if (self.scene.is_cancelled)() {
                return Err(interrupted());
            }
            let left = Duration::from_secs_f64((at_s - self.now_s()).max(0.0));
            sleep(left.min(NAP));
        }
        let at_s = self.now_s();
        let read = self.counters.read();
        let was_silent = std::mem::replace(&mut self.is_silent, read.is_err());
        if let (Err(why), false) = (&read, was_silent) {
            let why = format!("cannot read the counter of work: {why}");
            self.say(why);
        }
        let cpu_s = match self.cpu_time.read(self.scene.root, self.scene.target) {
            Ok(seconds) => seconds,
            Err(Error::Instance(_)) => return Err(target_ended(self.scene.target)),
            Err(error) => return Err(error.into()),
        };
        let done = read.ok();
        Ok(Sample {
            at_s,
            work: done.map(|done| done.units),
            mix: done.and_then(|done| done.mix),
            cpu_s,
        })
    }

    fn say(&mut self, text: String) {
        let at_s = self.now_s();
        (self.scene.tell)(at_s, &text);
        self.log.push(TryLine { at_s, text });
    }
}

/// Ends the session if something is not as it was left.
fn is_as_left(what: &str, now: &str, left: &str) -> Result<(), Halt> {
    if now == left {
        return Ok(());
    }
    let because = format!("another process has changed {what} from {left} to {now}");
    Err(Halt::End(TryEnd::Vetoed, because))
}

fn interrupted() -> Halt {
    Halt::End(TryEnd::Interrupted, "interrupted".to_owned())
}

fn target_ended(target: &Target) -> Halt {
    let because = format!("{target} has ended, or was started again");
    Halt::End(TryEnd::TargetEnded, because)
}
