//! `numalab report`: writes runs, or a document, as a page with pictures; runs as Markdown, too.

use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use model::Run;
use model::exit::ExitCode;
use report::RunView;
use store::Store;

use crate::failure::Failure;
use crate::files::requested_files;
use crate::measuring::memory_runs;

/// The longest file that is read: beyond it, `page` refuses the document.
const FILE_BYTES_MAX: u64 = 33 << 20;

/// Options of `numalab report`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("output").required(true).multiple(true)))]
pub(crate) struct ReportArguments {
    /// Stored runs, by id or a prefix of one (`last` is the newest with trials); or documents that
    /// topology, latency, bandwidth, inspect, firsttouch, move, balance or doctor wrote with
    /// --json. Runs with one document of bandwidth --loaded: their cases on its curves.
    #[arg(value_name = "RUN|FILE.json", required = true)]
    pub what: Vec<String>,
    /// Write a page: one file that needs no other; `-` for stdout.
    #[arg(long, value_name = "FILE", group = "output")]
    pub html: Option<PathBuf>,
    /// Write Markdown, for a ticket; `-` for stdout. Only of runs.
    #[arg(long, value_name = "FILE", group = "output")]
    pub markdown: Option<PathBuf>,
    /// Write the picture of every trial as an SVG file, for embedding in your own page; `-`
    /// for stdout. Only of one run.
    #[arg(long, value_name = "FILE", group = "output")]
    pub svg: Option<PathBuf>,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
}

/// Writes the files.
pub(crate) fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let is_document = |name: &String| name.ends_with(".json") || Path::new(name).is_file();
    let (documents, runs): (Vec<String>, Vec<String>) =
        arguments.what.iter().cloned().partition(is_document);
    match (&documents[..], &runs[..]) {
        (_, []) => of_documents(arguments),
        ([], _) => of_runs(arguments, &runs, None),
        ([loaded], _) => of_runs(arguments, &runs, Some(loaded)),
        ([_, second, ..], _) => {
            let message = format!("cannot show {second} beside runs: one document is enough");
            let advice = "name the runs and one document of bandwidth --loaded, or documents alone";
            Err(Failure::new(ExitCode::Usage, message).advise(advice))
        }
    }
}

fn of_runs(
    arguments: &ReportArguments,
    asked: &[String],
    loaded: Option<&String>,
) -> Result<(), Failure> {
    let store = Store::open_existing(arguments.store.place()?)?;
    let runs: Vec<Run> = asked
        .iter()
        .map(|run| store.load(run))
        .collect::<Result<_, _>>()?;
    if let Some(path) = &arguments.svg {
        requested_files::write_result(path, &picture(&runs)?)?;
    }
    if let Some(path) = &arguments.html {
        let views: Vec<RunView> = runs.iter().map(memory_runs::view).collect();
        let page = match loaded {
            None => page::run_page(&views),
            Some(file) => with_load(&views, file)?,
        };
        requested_files::write_result(path, &page)?;
    }
    if let Some(path) = &arguments.markdown {
        let texts: Vec<String> = runs.iter().map(report::run_markdown).collect();
        requested_files::write_result(path, &texts.join("\n"))?;
    }
    Ok(())
}

/// The page of runs with their cases on the curves of a document.
fn with_load(views: &[RunView], file: &str) -> Result<String, Failure> {
    let text = read(Path::new(file))?;
    page::run_page_with_load(views, &text).map_err(|error| {
        let message = format!("cannot show {file} beside runs: {error}");
        Failure::new(ExitCode::Usage, message)
            .advise("write it with: numalab bandwidth --loaded --json > loaded.json")
    })
}

fn picture(runs: &[Run]) -> Result<String, Failure> {
    let [run] = runs else {
        let message = "cannot draw several runs as one picture";
        return Err(Failure::new(ExitCode::Usage, message).advise("name one run with --svg"));
    };
    page::run_svg(&report::run_view(run)).ok_or_else(|| {
        let message = format!(
            "cannot draw run {}: it has no trial with a figure, or its machine is emulated",
            run.id
        );
        Failure::new(ExitCode::Usage, message).advise("write its page with --html FILE")
    })
}

fn of_documents(arguments: &ReportArguments) -> Result<(), Failure> {
    let first = &arguments.what[0];
    for (option, what) in [
        (&arguments.markdown, "as Markdown"),
        (&arguments.svg, "as one picture"),
    ] {
        if option.is_some() {
            let message = format!("cannot write {first} {what}: only runs");
            let advice = "write a page with --html FILE";
            return Err(Failure::new(ExitCode::Usage, message).advise(advice));
        }
    }
    let files = arguments.what.iter().map(Path::new);
    let texts: Vec<String> = files.map(read).collect::<Result<_, _>>()?;
    let page = page::documents_page(&texts).map_err(|(index, error)| {
        let message = format!("cannot show {}: {error}", arguments.what[index]);
        Failure::new(ExitCode::Usage, message)
            .advise("write a document with, for example: numalab latency --json > latency.json")
    })?;
    arguments
        .html
        .as_ref()
        .map_or(Ok(()), |path| requested_files::write_result(path, &page))
}

fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |cause: io::Error| {
        let message = format!("cannot read {}: {cause}", path.display());
        Failure::new(ExitCode::Usage, message).advise("name a document that --json wrote")
    };
    let bytes = observed::read_named(path, FILE_BYTES_MAX).map_err(unreadable)?;
    String::from_utf8(linux::plain_text(bytes))
        .map_err(|_| unreadable(io::Error::other("not valid UTF-8")))
}
