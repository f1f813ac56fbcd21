//! The latest look at the machine, shared by all readers. Samples only while someone reads.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::content::{Content, Look, Problem};

/// The age up to which a look is shown again.
const FRESH: Duration = Duration::from_secs(1);

/// The latest look.
#[derive(Default)]
pub(super) struct Latest(Mutex<Option<(Instant, Arc<Look>)>>);

impl Latest {
    /// Returns a look that is at most one second old; whoever asks meanwhile waits for the same.
    pub(super) fn get(&self, content: &dyn Content) -> Result<Arc<Look>, Problem> {
        // A look that panicked left the one before.
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((taken, look)) = &*latest
            && taken.elapsed() < FRESH
        {
            return Ok(Arc::clone(look));
        }
        let look = Arc::new(content.look()?);
        *latest = Some((Instant::now(), Arc::clone(&look)));
        Ok(look)
    }
}
