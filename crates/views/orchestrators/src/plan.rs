//! The plan: which hosts do what, until when, and where they send it. Its file is beside the files
//! of the engine, and `fleet status` reads it.

use std::fmt;

use model::shell_word;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::hosts::{HOSTS_MAX, HostsError, host_list};
use crate::step::Step;

/// The format of the file.
pub const FORMAT: &str = "numalab.fleet-plan/1";

/// Seconds that are left for sending: the waits of the script, and a minute for each try.
const SEND_S: u32 = 900;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    format: String,
    /// Its name: of files and folders on the machines, of jobs, and of labels.
    pub name: String,
    /// When it was made, RFC 3339 with offset: what was measured before does not count.
    pub made_at: String,
    /// The engine that runs it.
    pub engine: Engine,
    /// The store to which each machine sends what it measured: a URL without a password, or a file.
    pub store: String,
    /// The limit of each experiment, in seconds.
    pub within_s: u32,
    /// What each machine does, in this order.
    pub steps: Vec<Step>,
    /// The hosts; none where the engine knows them (a DaemonSet).
    pub hosts: Vec<String>,
}

/// Why a plan is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// It is not TOML, or has other keys or values.
    Text(String),
    /// It has another format.
    Format(String),
    /// A name that is none.
    Name(String),
    /// Its hosts.
    Hosts(HostsError),
    /// It has nothing to do.
    NoSteps,
    /// Two steps are alike.
    Twice(String),
    /// The engine needs the hosts.
    NoHosts(Engine),
    /// A pod has no service file and shares no file with others.
    NoServer,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Text(cause) => write!(f, "{cause}"),
            PlanError::Format(found) => write!(f, "its format is {found:?}, expected {FORMAT:?}"),
            PlanError::Name(name) => write!(
                f,
                "{name:?} is no name of a plan: at most 30 small letters, digits and hyphens"
            ),
            PlanError::Hosts(error) => write!(f, "hosts: {error}"),
            PlanError::NoSteps => f.write_str("it has nothing to do"),
            PlanError::Twice(step) => write!(f, "{step} is in it twice"),
            PlanError::NoHosts(engine) => write!(f, "{} needs the names of hosts", engine.name()),
            PlanError::NoServer => f.write_str(
                "a pod reaches a store by a URL with a host alone: postgresql://ROLE@HOST/DATABASE",
            ),
        }
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// Makes a plan of what it must say.
    ///
    /// # Errors
    /// When it could not be carried out.
    pub fn new(
        (name, made_at): (&str, &str),
        engine: Engine,
        store: &str,
        steps: Vec<Step>,
        within_s: u32,
        hosts: Vec<String>,
    ) -> Result<Self, PlanError> {
        let plan = Plan {
            format: FORMAT.to_owned(),
            name: name.to_owned(),
            made_at: made_at.to_owned(),
            engine,
            store: store.to_owned(),
            within_s,
            steps,
            hosts,
        };
        plan.checked()
    }

    /// Reads the file of a plan.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let plan: Plan = toml::from_str(text).map_err(|cause| {
            let message = cause.message();
            let line = cause
                .span()
                .map(|span| text[..span.start].lines().count().max(1));
            PlanError::Text(match line {
                Some(line) => format!("line {line}: {message}"),
                None => message.to_owned(),
            })
        })?;
        plan.checked()
    }

    fn checked(self) -> Result<Self, PlanError> {
        let is_fit = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() <= 30
                && name.bytes().all(is_fit)
                && !name.starts_with('-')
                && !name.ends_with('-')
        };
        if self.format != FORMAT {
            return Err(PlanError::Format(self.format));
        }
        if !is_name(&self.name) {
            return Err(PlanError::Name(self.name));
        }
        let mut names: Vec<String> = self.steps.iter().map(Step::short_name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PlanError::Twice(pair[0].clone()));
        }
        if self.steps.is_empty() {
            return Err(PlanError::NoSteps);
        }
        if self.hosts.len() > HOSTS_MAX {
            return Err(PlanError::Hosts(HostsError::TooMany));
        }
        let is_needed = self.engine != Engine::Kubernetes;
        match self.hosts.is_empty() {
            true if is_needed => return Err(PlanError::NoHosts(self.engine)),
            true => {}
            false => {
                let listed = host_list(&self.hosts.join("\n")).map_err(PlanError::Hosts)?;
                if listed != self.hosts {
                    let twice = "a host is in it twice, or is no name".to_owned();
                    return Err(PlanError::Text(twice));
                }
            }
        }
        let address = self.store.split_once("://").map(|(_, rest)| rest);
        let has_host = address.is_some_and(|rest| !rest.starts_with(['/', '?']));
        match !is_needed && !has_host {
            true => Err(PlanError::NoServer),
            false => Ok(self),
        }
    }

    /// The file.
    pub fn text(&self) -> String {
        let text = toml::to_string(self).expect("a table of texts and numbers can be written");
        format!(
            "# What `numalab fleet plan` planned, and `numalab fleet status` looks for. The file \
             has no password.\n{text}"
        )
    }

    /// Seconds in which a machine has ended, with those for sending.
    pub(crate) fn seconds(&self) -> u32 {
        let steps = self.steps.iter();
        let steps: u32 = steps.map(|step| step.limit_s(self.within_s)).sum();
        steps + SEND_S
    }

    /// The store as a word for a shell.
    pub(crate) fn store_word(&self) -> String {
        shell_word(&self.store).into_owned()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::{Plan, PlanError};
    use crate::{Engine, Step};

    /// A plan of two hosts.
    pub(crate) fn plan(engine: Engine, steps: &[&str]) -> Plan {
        let steps = steps.iter().map(|it| Step::named(it).unwrap()).collect();
        let store = "postgresql://numalab@db.example.org/fleet?sslmode=disable";
        let hosts = vec!["n1".to_owned(), "n2.example.org".to_owned()];
        let at = ("october", "2026-10-01T08:00:00+02:00");
        Plan::new(at, engine, store, steps, 300, hosts).unwrap()
    }

    #[test]
    fn the_file_of_a_plan_is_read_as_it_was_written() {
        for engine in Engine::ALL {
            let plan = plan(engine, &["doctor", "latency", "binding-vs-caging"]);
            assert_eq!(Plan::parse(&plan.text()), Ok(plan));
        }
    }

    #[test]
    fn what_could_not_be_carried_out_is_no_plan() {
        let good = plan(Engine::Slurm, &["latency"]);
        let text = good.text();
        let with = |old: &str, new: &str| {
            assert!(text.contains(old), "{text}");
            Plan::parse(&text.replace(old, new))
                .unwrap_err()
                .to_string()
        };
        assert!(with("plan/1", "plan/2").contains("expected \"numalab.fleet-plan/1\""));
        assert!(with("october", "../x").contains("no name of a plan"));
        assert!(
            with("\"latency\"", "\"rm -rf\"").contains("line 8"),
            "{text}"
        );
        assert!(with("\"n1\"", "\"$(id)\"").contains("no name of a host"));
        assert!(with("[\"latency\"]", "[]").contains("nothing to do"));
        assert!(with("\"latency\"", "\"latency\", \"latency\"").contains("twice"));
        let (at, steps) = (("a", "b"), good.steps);
        let made = |engine, store| Plan::new(at, engine, store, steps.clone(), 60, Vec::new());
        let url = "postgresql://?service=fleet";
        assert_eq!(made(Engine::Kubernetes, url), Err(PlanError::NoServer));
        assert_eq!(
            made(Engine::Kubernetes, "/x.sqlite"),
            Err(PlanError::NoServer)
        );
        assert_eq!(
            made(Engine::Ansible, url),
            Err(PlanError::NoHosts(Engine::Ansible))
        );
    }

    proptest! {
        #[test]
        fn no_text_is_too_much_for_the_reader(text in "\\PC{0,80}", at in 0_usize..600) {
            let mut file = plan(Engine::Ansible, &["doctor"]).text();
            let at = (0..=at.min(file.len())).rev().find(|at| file.is_char_boundary(*at)).unwrap();
            file.insert_str(at, &text);
            let _ = Plan::parse(&file);
        }
    }
}

/// What is written for an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Paths below the folder, with texts; the plan is the first.
    pub files: Vec<(String, String)>,
    /// What to type next, in the folder: each a command with what it does.
    pub next: Vec<(String, &'static str)>,
}
