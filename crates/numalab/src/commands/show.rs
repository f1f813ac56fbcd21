//! `numalab show`: a stored run, judged and rendered anew.

use store::Store;

use crate::arguments::ShowArguments;
use crate::failure::Failure;
use crate::state_folder::StateFolder;
use crate::{output, text_options};

/// Shows one stored run.
pub fn run(arguments: &ShowArguments) -> Result<(), Failure> {
    let store = Store::open_existing(&StateFolder::from_environment()?.store())?;
    let run = store.load(&arguments.run)?;
    if arguments.json {
        return output::json(&report::run_document(&run));
    }
    output::data(&report::run_text(&run, &text_options::for_stdout()))
}
