//! From a place of the table to an answer. Reads the machine and the store, so it may take long and
//! runs on a thread of its own.

use hyper::StatusCode;
use hyper::header;

use super::answer::{Answer, Kind};
use super::latest::Latest;
use super::routes::{Place, ROUTES, two_runs};
use crate::content::{Content, Problem, RunPage};
use crate::metrics::{Observed, metrics_text};
use crate::pages;

/// What answers are made of.
pub(super) struct Shown {
    /// The version of numalab.
    pub version: String,
    /// The machine and the runs.
    pub content: Box<dyn Content>,
    /// The latest look at the machine.
    pub latest: Latest,
}

impl Shown {
    /// Answers for a place; `id` is that of a run in the path.
    pub(super) fn answer(&self, place: Place, id: &str, query: &str) -> Answer {
        let made = match place {
            Place::Live | Place::LivePart | Place::SnapshotDocument => self.live(place),
            Place::Metrics => self.metrics(),
            Place::Runs => self.runs(),
            Place::RunsDocument => self.content.runs_document().map(json),
            Place::Run => self.run(id),
            Place::RunDocument => self.content.run_document(id).map(json),
            Place::Compare | Place::CompareDocument => self.comparison(place, query),
            Place::Health => Ok(Answer::line(StatusCode::OK, "ok")),
            Place::Login => Ok(page(pages::login_page(false))),
            Place::Style => Ok(Answer::new(StatusCode::OK, Kind::Style, pages::STYLE)),
            Place::Script => Ok(Answer::new(StatusCode::OK, Kind::Script, pages::SCRIPT)),
        };
        made.unwrap_or_else(|problem| failed(place, &problem))
    }

    fn live(&self, place: Place) -> Result<Answer, Problem> {
        let content = self.content.as_ref();
        let look = self.latest.get(content)?;
        Ok(match place {
            Place::SnapshotDocument => json(content.snapshot_document(&look)?),
            Place::LivePart => page(pages::live_part(&look)),
            _ => page(pages::live_page(&look)),
        })
    }

    fn metrics(&self) -> Result<Answer, Problem> {
        let content = self.content.as_ref();
        let look = self.latest.get(content)?;
        let text = metrics_text(&Observed {
            version: &self.version,
            snapshot: &look.snapshot,
            forecast: &look.forecast,
            // The machine's figures are worth as much without those of runs.
            runs: content.run_figures().ok().as_deref(),
            exporter: Some(content.exporter()),
        });
        Ok(Answer::new(StatusCode::OK, Kind::Metrics, text))
    }

    fn runs(&self) -> Result<Answer, Problem> {
        self.content
            .runs()
            .map(|runs| page(pages::runs_page(&runs)))
    }

    fn run(&self, id: &str) -> Result<Answer, Problem> {
        let as_text = |text: &str| pages::run_text_page(id, text);
        self.content.run_page(id).map(|made| report(made, as_text))
    }

    fn comparison(&self, place: Place, query: &str) -> Result<Answer, Problem> {
        let Some((first, second)) = two_runs(query) else {
            let why = "name two runs: ?a=ID&b=ID, or pick two in the list of runs";
            return Ok(refused(
                place,
                StatusCode::BAD_REQUEST,
                "Two runs are needed",
                why,
            ));
        };
        Ok(match place {
            Place::CompareDocument => json(self.content.comparison_document(first, second)?),
            _ => {
                let as_text = |text: &str| pages::comparison_page(first, second, text);
                report(self.content.comparison(first, second)?, as_text)
            }
        })
    }
}

/// Answers for a path that is not in the table.
pub(super) fn missing() -> Answer {
    let paths = ROUTES.iter().map(|route| (route.path, route.shows));
    Answer::new(
        StatusCode::NOT_FOUND,
        Kind::Page,
        pages::missing_page(paths),
    )
}

/// Answers a request without the token: a form for who opened a page, a line for programs.
pub(super) fn unauthorized(place: Place, was_wrong: bool) -> Answer {
    let status = StatusCode::UNAUTHORIZED;
    let answer = match is_page(place) {
        true => Answer::new(status, Kind::Page, pages::login_page(was_wrong)),
        false => Answer::line(status, "send the header `Authorization: Bearer TOKEN`"),
    };
    answer.with(header::WWW_AUTHENTICATE, "Bearer realm=\"numalab\"")
}

fn is_page(place: Place) -> bool {
    matches!(
        place,
        Place::Live | Place::Runs | Place::Run | Place::Compare | Place::Login
    )
}

fn page(html: String) -> Answer {
    Answer::new(StatusCode::OK, Kind::Page, html)
}

/// Answers with a document of its own, or with text on a page of the server.
fn report(made: RunPage, as_text: impl Fn(&str) -> String) -> Answer {
    match made {
        RunPage::Document(html) => {
            Answer::new(StatusCode::OK, Kind::Report, pages::with_way_back(&html))
        }
        RunPage::Text(text) => page(as_text(&text)),
    }
}

fn json(document: String) -> Answer {
    Answer::new(StatusCode::OK, Kind::Json, document)
}

fn failed(place: Place, problem: &Problem) -> Answer {
    match problem {
        Problem::Missing(why) => refused(place, StatusCode::NOT_FOUND, "Not found", why),
        Problem::Senseless(why) => refused(place, StatusCode::BAD_REQUEST, "Bad request", why),
        Problem::Failed(why) => refused(
            place,
            StatusCode::INTERNAL_SERVER_ERROR,
            "This cannot be shown",
            why,
        ),
    }
}

fn refused(place: Place, status: StatusCode, title: &str, why: &str) -> Answer {
    match is_page(place) {
        true => Answer::new(status, Kind::Page, pages::problem_page(title, why)),
        false => Answer::line(status, why),
    }
}
