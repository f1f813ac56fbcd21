//! The pages of the server, as HTML. Pure; names of others are escaped.

mod amounts;
mod html;
mod live;
mod messages;
mod runs;

pub(crate) use html::{SCRIPT, STYLE, with_way_back};
pub(crate) use live::{live_page, live_part};
pub(crate) use messages::{login_page, missing_page, problem_page};
pub(crate) use runs::{comparison_page, run_text_page, runs_page};
