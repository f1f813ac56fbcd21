//! SIGINT, SIGTERM and SIGHUP as a flag that waiting loops check, so that they can clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Remembers the last of SIGINT, SIGTERM and SIGHUP that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Handles the three signals for the rest of the process.
    pub(crate) fn watch() -> Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let value = usize::try_from(number).context("signal numbers are positive")?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), value)
                .with_context(|| format!("cannot watch signal {number}"))?;
        }
        Ok(Self { signal })
    }

    /// Returns the signal that arrived, if any.
    pub(crate) fn signal(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            number => u8::try_from(number).ok(),
        }
    }
}
