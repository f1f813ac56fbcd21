//! Changes to the machine in words, as `numalab undo` lists them.

use crate::journal::Change;

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::GroupCreated { directory } => {
                write!(f, "processor group {}", directory.display())
            }
            Change::ControllerEnabled {
                directory,
                controller,
            } => {
                write!(
                    f,
                    "controller {controller} enabled in {}",
                    directory.display()
                )
            }
            Change::ClusterMade { directory } => {
                write!(f, "throw-away cluster {}", directory.display())
            }
            Change::SchemaMade { server, schema } => {
                write!(f, "schema {schema} in the database of {server}")
            }
            Change::FileWritten {
                path,
                before,
                written,
                ..
            } => write!(f, "{}: {written:?} for {before:?}", path.display()),
            Change::PoolResized {
                path,
                before,
                asked,
            } => write!(f, "{}: {asked} pages for {before}", path.display()),
            Change::MountPolicySet {
                mount_point,
                before,
                written,
            } => {
                let before = before.as_deref().unwrap_or("none");
                write!(f, "memory policy of {mount_point}: {written} for {before}")
            }
            Change::SegmentPolicySet { name, written, .. } => {
                let (mode, nodes) = (linux::mempolicy::mode_name(written.mode), &written.nodes);
                write!(f, "memory policy of {name}: {mode}:{nodes}")
            }
            Change::PagesMoved { target, to, .. } => write!(f, "memory of {target} moved to {to}"),
            Change::GroupNamed { name, .. } => write!(f, "processor group {name}"),
            Change::MemberMoved { pid, to, .. } => {
                let to: Vec<_> = to.iter().map(|it| it.display().to_string()).collect();
                write!(f, "process {pid} moved into {}", to.join(" and "))
            }
        }
    }
}
