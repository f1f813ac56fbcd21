//! Cancellation: a flag that asks a run to end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that is raised once; all its clones see it.
///
/// Raising a flag also raises its children, but not its parent.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    raised: Arc<AtomicBool>,
    parent: Option<Arc<Cancel>>,
}

impl Cancel {
    /// Creates a flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wraps a flag that a signal handler raises by storing true.
    pub fn from_flag(raised: Arc<AtomicBool>) -> Self {
        Cancel {
            raised,
            parent: None,
        }
    }

    /// Creates a child: it is raised when this flag is, or on its own.
    pub fn child(&self) -> Self {
        Cancel {
            raised: Arc::default(),
            parent: Some(Arc::new(self.clone())),
        }
    }

    /// Raises the flag.
    pub fn cancel(&self) {
        self.raised.store(true, Ordering::Release);
    }

    /// Returns whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        let parent = self.parent.as_deref();
        self.raised.load(Ordering::Acquire) || parent.is_some_and(Cancel::is_cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_and_children_see_it_and_parents_do_not() {
        let parent = Cancel::new();
        let (clone, child, sibling) = (parent.clone(), parent.child(), parent.child());
        child.cancel();
        assert!(child.is_cancelled());
        assert!(!parent.is_cancelled() && !sibling.is_cancelled());
        clone.cancel();
        assert!(parent.is_cancelled() && sibling.is_cancelled());
    }

    #[test]
    fn a_flag_from_outside_is_watched() {
        let flag = Arc::new(AtomicBool::new(false));
        let child = Cancel::from_flag(Arc::clone(&flag)).child();
        assert!(!child.is_cancelled());
        flag.store(true, Ordering::Release);
        assert!(child.is_cancelled());
    }
}
