//! The files of a plan, whatever the engine.

use crate::engine::Engine;
use crate::plan::Files;
use crate::plan::Plan;
use crate::{ansible, kubernetes, slurm};

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
