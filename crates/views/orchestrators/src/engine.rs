//! The engines that run plans, and the files that each of them takes.

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::{ansible, kubernetes, slurm};

/// What runs a plan on many machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// An array of `sbatch`.
    Slurm,
    /// A Job for each node, or a DaemonSet.
    Kubernetes,
    /// A role with a playbook.
    Ansible,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Engine; 3] = [Engine::Slurm, Engine::Kubernetes, Engine::Ansible];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Slurm => "slurm",
            Engine::Kubernetes => "kubernetes",
            Engine::Ansible => "ansible",
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

/// The files of a plan. `image` is the container's, which Kubernetes alone needs.
pub fn files(plan: &Plan, image: &str) -> Files {
    let mut files = match plan.engine {
        Engine::Slurm => slurm::files(plan),
        Engine::Kubernetes => kubernetes::files(plan, image),
        Engine::Ansible => ansible::files(plan),
    };
    files.files.insert(0, ("plan.toml".to_owned(), plan.text()));
    files
}
