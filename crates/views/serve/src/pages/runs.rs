//! The list of runs with its choice of two, a run as text, and a comparison.

use model::{RunHeader, moment};

use super::amounts::UNKNOWN;
use super::html::{escaped, page, table};
use crate::content::RUNS_MAX;

/// Returns the list of runs.
pub(crate) fn runs_page(runs: &[RunHeader]) -> String {
    if runs.is_empty() {
        let main = "<h1>Runs</h1>\n<p>No run is stored. Run an experiment: \
                    <code>numalab run</code></p>\n";
        return page("Runs", "", main);
    }
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    let heads = [
        "compare",
        "run",
        "experiment",
        "started",
        "host",
        "cases",
        "valid",
        "invalid",
        "failed",
    ];
    let table = table(&heads, &rows);
    let main = format!(
        "<h1>Runs</h1>\n<form action=\"/compare\">\n{table}<p><button>Compare the two picked \
         runs</button></p>\n</form>\n{}",
        match runs.len() >= RUNS_MAX {
            true => format!("<p>These are the newest {RUNS_MAX} runs.</p>\n"),
            false => String::new(),
        }
    );
    page("Runs", "", &main)
}

fn row(run: &RunHeader) -> Vec<String> {
    let id = escaped(&run.id);
    vec![
        format!("<input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"pick {id}\">"),
        format!("<a href=\"/runs/{id}\">{id}</a>"),
        escaped(&run.experiment),
        escaped(&moment(&run.started_at)),
        run.host.as_deref().map_or(UNKNOWN.to_owned(), escaped),
        run.cases.to_string(),
        run.trials_valid.to_string(),
        run.trials_invalid.to_string(),
        run.trials_failed.to_string(),
    ]
}

/// Returns a run as text.
pub(crate) fn run_text_page(run: &str, text: &str) -> String {
    let title = format!("Run {run}");
    let main = format!(
        "<h1>{}</h1>\n<pre class=\"scroll\" tabindex=\"0\">{}</pre>\n",
        escaped(&title),
        escaped(text)
    );
    page(&title, "", &main)
}

/// Returns the comparison of two runs.
pub(crate) fn comparison_page(first: &str, second: &str, text: &str) -> String {
    let (one, other) = (escaped(first), escaped(second));
    let main = format!(
        "<h1>Comparison</h1>\n<p><a href=\"/runs/{one}\">{one}</a> and \
         <a href=\"/runs/{other}\">{other}</a></p>\n\
         <pre class=\"scroll\" tabindex=\"0\">{}</pre>\n",
        escaped(text)
    );
    page("Comparison", "", &main)
}
