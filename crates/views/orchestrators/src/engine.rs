//! The engines that run plans.

use serde::{Deserialize, Serialize};

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

    /// Where machines say why a step failed: a command, in the folder of the plan; `None` where the
    /// engine has shown it.
    pub fn reasons(self, plan: &str) -> Option<String> {
        match self {
            Engine::Slurm => Some("grep -h '^numalab fleet:' logs/*".to_owned()),
            Engine::Kubernetes => Some(format!(
                "kubectl logs -l numalab-plan={plan} --all-containers --prefix | \
                 grep 'numalab fleet:'"
            )),
            Engine::Ansible => None,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Slurm => "slurm",
            Engine::Kubernetes => "kubernetes",
            Engine::Ansible => "ansible",
        }
    }
}
