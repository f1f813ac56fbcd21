//! What the server shows: made by whoever starts it, since the server knows neither the store nor
//! the pages of runs.

use live::{Change, Minute};
use model::{RunHeader, Snapshot};

use crate::metrics::{Expected, Exporter, RunFigures};

/// Maximum number of runs in the list of runs.
pub const RUNS_MAX: usize = 1000;

/// The machine at one moment, with what follows from it.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// The name of the machine.
    pub host: String,
    /// When it was taken, to the second, with the zone.
    pub taken: String,
    /// Its last minute.
    pub minute: Minute,
    /// The machine.
    pub snapshot: Snapshot,
    /// Rates since the look before; `None` at the first.
    pub change: Option<Change>,
    /// What runs out, and when.
    pub forecast: Vec<Expected>,
    /// What a reader should know, one sentence each.
    pub notices: Vec<String>,
}

/// Why something cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// There is no such run; a sentence fragment says more.
    Missing(String),
    /// The reader asked for what makes no sense; a sentence fragment says more.
    Senseless(String),
    /// It cannot be read or made; a sentence fragment says more.
    Failed(String),
}

/// Where the server gets what it shows. Calls come from several threads, and may take long.
pub trait Content: Send + Sync + 'static {
    /// Looks at the machine. The server asks at most once a second, and only for a reader.
    ///
    /// # Errors
    ///
    /// The machine cannot be read.
    fn look(&self) -> Result<Look, Problem>;

    /// Returns what the server itself uses.
    fn exporter(&self) -> Exporter;

    /// Returns the `numalab.snapshot/1` document of a look.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    fn snapshot_document(&self, look: &Look) -> Result<String, Problem>;

    /// Returns the newest stored runs, newest first, at most [`RUNS_MAX`].
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn runs(&self) -> Result<Vec<RunHeader>, Problem>;

    /// Returns the `numalab.history/1` document.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn runs_document(&self) -> Result<String, Problem>;

    /// Returns the judged figures of the newest run of each experiment, of those that have ended
    /// and were not made on an emulated machine.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn run_figures(&self) -> Result<Vec<RunFigures>, Problem>;

    /// Returns the page of a run.
    ///
    /// # Errors
    ///
    /// There is no such run, or the store cannot be read.
    fn run_page(&self, run: &str) -> Result<RunPage, Problem>;

    /// Returns the `numalab.run/1` document of a run.
    ///
    /// # Errors
    ///
    /// There is no such run, or the store cannot be read.
    fn run_document(&self, run: &str) -> Result<String, Problem>;

    /// Returns the comparison of two runs.
    ///
    /// # Errors
    ///
    /// A run is missing, or they cannot be compared.
    fn comparison(&self, first: &str, second: &str) -> Result<RunPage, Problem>;

    /// Returns the `numalab.compare/1` document of two runs.
    ///
    /// # Errors
    ///
    /// A run is missing, or they cannot be compared.
    fn comparison_document(&self, first: &str, second: &str) -> Result<String, Problem>;
}

/// The page of a run, or of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunPage {
    /// A whole HTML document with its own style and script.
    Document(String),
    /// Text, to be shown as it is.
    Text(String),
}
