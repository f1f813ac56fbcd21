//! How much work a running server has done: statements of clients (`Questions`), and requests for
//! pages of the buffer pool for the mix. Our own statement is among them, one a second.

use std::time::Duration;

use linux::Root;
use server::{Error, WorkCounters, WorkDone};

use crate::client::Client;
use crate::running_settings;
use crate::status::{self, REQUESTS};

/// Statements that clients have sent.
const STATEMENTS: &str = "Questions";
/// The time that an answer may take, and its length.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
const ANSWER_BYTES_MAX: u64 = 1 << 16;

/// Connects to server `pid`.
///
/// # Errors
/// As for its settings.
pub(crate) fn connect(pid: u32) -> Result<Box<dyn WorkCounters>, Error> {
    let client = running_settings::connect(&Root::live(), pid)?;
    Ok(Box::new(Statements { client }))
}

/// The counter of statements.
struct Statements {
    client: Client,
}

impl WorkCounters for Statements {
    fn unit(&self) -> &'static str {
        "statement"
    }

    fn mix(&self) -> Option<&'static str> {
        Some("page requests")
    }

    fn read(&mut self) -> Result<WorkDone, Error> {
        self.client.limit(ANSWER_WITHIN, ANSWER_BYTES_MAX);
        let [units, requests] = status::counts(&mut self.client, [STATEMENTS, REQUESTS])?;
        Ok(WorkDone {
            units,
            mix: Some(requests),
        })
    }
}
