//! Reports as a person looks at them: in Chromium, light and dark, wide and on a phone.
//!
//! Tests of page.

use std::fs;
use std::path::Path;

use serde_json::json;
use testing::{Machine, Need, not_run, reports, unusual_machines};

use crate::browser::Browser;
use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::page_documents;
use crate::patience::until;
use crate::running::Running;

const THEMES: [&str; 2] = ["light", "dark"];
/// A phone, and a window.
const WIDTHS: [u32; 2] = [360, 1280];

/// Writes the page of a document or of runs; returns its path.
fn page(laboratory: &Laboratory, name: &str, what: &[&str]) -> String {
    let file = laboratory.file(&format!("{name}.html"), "");
    let words = [&["report"], what, &["--html", &file]].concat();
    laboratory.run(&words).with_code(0);
    file
}

/// Writes the page of the document that a command prints; returns its path.
fn page_of(laboratory: &Laboratory, name: &str, command: &[&str]) -> String {
    let document = laboratory.run(command).stdout;
    let document = laboratory.file(&format!("{name}.json"), &document);
    page(laboratory, name, &[&document])
}

/// A page with its name.
type Page = (String, String);

/// Pages of runs, of their comparison, and of a fleet.
fn pages_of_runs(laboratory: &Laboratory) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut add = |name: &str, path: String| pages.push((name.to_owned(), path));
    let files = (1..).zip(reports::ARTICLE_001);
    let files = files.map(|(test, text)| laboratory.file(&format!("test{test}.txt"), text));
    let files: Vec<String> = files.collect();
    let words = ["import", "awr"].into_iter();
    let words: Vec<&str> = words.chain(files.iter().map(String::as_str)).collect();
    let imported = laboratory.run(&words).with_code(0).stdout;
    add(
        "imported run",
        page(laboratory, "imported", &[imported.trim_end()]),
    );
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"\nmechanism = \"affinity\"")
        .case("other", "cpus = \"all\"\nmechanism = \"affinity\"");
    let definition = laboratory.file("one.toml", experiment.text());
    let run = ["run", &definition, "--trials", "6", "--seconds", "0.1"];
    laboratory.run(&run);
    add("measured run", page(laboratory, "measured", &["last"]));
    laboratory.run(&run);
    let compared = laboratory.file("compared.html", "");
    let history = laboratory.document(&["history", "--limit", "2", "--json"]);
    let id = |at: usize| history["runs"][at]["id"].as_str().unwrap().to_owned();
    let (first, second) = (id(1), id(0));
    let compare = ["compare", &first, &second, "--html", &compared];
    laboratory.run(&compare).with_code(0);
    add("comparison", compared);
    add("fleet", crate::fleets::page(laboratory));
    pages
}

/// Pages of what commands found, of small and of large machines.
fn pages_of_machines(laboratory: &Laboratory) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut add = |name: &str, path: String| pages.push((name.to_owned(), path));
    let matrix = laboratory.file("small.txt", "53 211 217 248\n");
    let latency = ["latency", "--from", &matrix, "--json"];
    add("latency", page_of(laboratory, "latency", &latency));
    let matrix = laboratory.file("large.txt", large_matrix());
    let latency = ["latency", "--from", &matrix, "--json"];
    add(
        "large latency",
        page_of(laboratory, "large-latency", &latency),
    );
    for (name, machine) in machines() {
        let tree = machine.tree().expand().unwrap();
        let root = tree.path().display().to_string();
        let topology = ["topology", "--root", &root, "--json"];
        add(
            &format!("topology of {name}"),
            page_of(laboratory, &name, &topology),
        );
    }
    let sleeper = Running::start(&["sleep", "600"]);
    let inspect = ["inspect", &sleeper.pid(), "--json"];
    add("inspect", page_of(laboratory, "inspect", &inspect));
    add(
        "doctor",
        page_of(laboratory, "doctor", &["doctor", "--json"]),
    );
    pages
}

/// Pages of documents with all pictures.
fn pages_with_pictures(laboratory: &Laboratory) -> Vec<Page> {
    let documents = page_documents::all().into_iter();
    let page = |(name, document): (&str, String)| {
        let document = laboratory.file(&format!("{name}.json"), &document);
        (name.to_owned(), page(laboratory, name, &[&document]))
    };
    documents.map(page).collect()
}

/// Latencies of 32 nodes in groups of eight.
fn large_matrix() -> String {
    let cell = |from: usize, to: usize| match (from == to, from / 8 == to / 8) {
        (true, _) => "90".to_owned(),
        (false, true) => (200 + 3 * from.abs_diff(to)).to_string(),
        (false, false) => (400 + from.abs_diff(to)).to_string(),
    };
    let row = |from: usize| {
        (0..32)
            .map(|to| cell(from, to))
            .collect::<Vec<_>>()
            .join(" ")
    };
    (0..32).map(|from| row(from) + "\n").collect()
}

/// Machines of one node, of thirty-two, and one of which little is known.
fn machines() -> Vec<(String, Machine)> {
    let mut machines = unusual_machines::all();
    let most = machines
        .iter()
        .map(|(_, machine)| machine.nodes.len())
        .max();
    let sizes = [Some(1), most];
    machines.retain(|(_, machine)| sizes.contains(&Some(machine.nodes.len())));
    let named = machines
        .into_iter()
        .map(|(name, machine)| (name.to_string(), machine));
    named.take(4).collect()
}

#[test]
fn runs_can_be_read_in_both_themes_and_on_a_phone() {
    let test = "runs_can_be_read_in_both_themes_and_on_a_phone";
    check_pages(test, pages_of_runs);
}

#[test]
fn machines_can_be_read_in_both_themes_and_on_a_phone() {
    let test = "machines_can_be_read_in_both_themes_and_on_a_phone";
    check_pages(test, pages_of_machines);
}

#[test]
fn every_picture_can_be_read_in_both_themes_and_on_a_phone() {
    let test = "every_picture_can_be_read_in_both_themes_and_on_a_phone";
    check_pages(test, pages_with_pictures);
}

fn check_pages(test: &str, pages: fn(&Laboratory) -> Vec<Page>) {
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let axe = axe();
    if axe.is_none() {
        not_run(
            test,
            Need::Network,
            "its part with axe needs axe-core, which npm could not fetch",
        );
    }
    let mut wrong = Vec::new();
    for (name, path) in pages(&laboratory) {
        browser.open_file(&path);
        let mut found = page_problems(&browser, &name);
        if let Some(axe) = &axe {
            let barriers = browser.barriers(axe);
            found.extend(barriers.iter().map(|it| format!("axe: {it}")));
        }
        found.extend(top_problems(&browser));
        found.extend(print_problems(&browser).map(|it| format!("print: {it}")));
        found.extend(browser.complaints());
        let fetched = "return performance.getEntriesByType('resource').map(it => it.name)";
        let fetched = browser.script(fetched);
        if fetched.as_array().is_none_or(|it| !it.is_empty()) {
            found.push(format!("fetched {fetched}"));
        }
        wrong.extend(found.iter().map(|it| format!("{name}: {it}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what is wrong with the page in each theme and width, and with the tables behind its
/// pictures.
fn page_problems(browser: &Browser, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut papers = Vec::new();
    for theme in THEMES {
        browser.media(theme, "screen");
        for width in WIDTHS {
            browser.width(width);
            let problems = browser.problems();
            let problems = problems.into_iter().take(5);
            wrong.extend(problems.map(|it| format!("{theme}, {width} px: {it}")));
        }
        papers.push(browser.script("return getComputedStyle(document.body).backgroundColor"));
    }
    if papers[0] == papers[1] {
        wrong.push(format!("light and dark are alike: {}", papers[0]));
    }
    browser.media("light", "screen");
    let (pictures, without) = browser.tables();
    wrong.extend(without);
    // A process without shared memory may have none, either.
    if pictures == 0 && !["doctor", "inspect"].contains(&name) {
        wrong.push("no picture".to_owned());
    }
    wrong
}

/// axe-core, as `cargo xtask test` unpacks it.
fn axe() -> Option<String> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    fs::read_to_string(target.join("programs/axe-core/package/axe.min.js")).ok()
}

/// Returns what is wrong with the top of the page in a window of 1280 × 800.
fn top_problems(browser: &Browser) -> impl Iterator<Item = String> {
    browser.width(1280);
    let top = "return [...document.querySelectorAll('h1, .answer, .facts, .warning')]\
        .filter(it => !it.closest('article, details') && \
        it.getBoundingClientRect().bottom > 800).map(it => it.className || it.tagName)";
    let below = browser.script(top);
    let below = (below != json!([])).then(|| format!("below the first screen: {below}"));
    let words = browser.script(
        "return Math.max(0, ...[...document.querySelectorAll('.answer')].map(it => \
         it.textContent.split(/[\\s\\u00a0]+/).length))",
    );
    let long = (words.as_u64().unwrap() > 25).then(|| format!("an answer of {words} words"));
    below.into_iter().chain(long)
}

/// Returns what is wrong with the page as it is printed: what is folded takes room, or what is
/// not takes more than two sheets of A4 with margins of 1 cm.
fn print_problems(browser: &Browser) -> impl Iterator<Item = String> {
    browser.media("light", "print");
    browser.width(718);
    let height = "return document.scrollingElement.scrollHeight";
    let folded = browser.script(height).as_u64().unwrap();
    let long = (folded > 2 * 1047).then(|| format!("{folded} px long"));
    // On demand, all of it.
    browser.script("document.getElementById('unfold').onclick?.()");
    let parts = browser.script("return document.querySelectorAll('details').length");
    let all = browser.script(height).as_u64().unwrap();
    let hidden = (parts != json!(0) && all <= folded).then(|| "folded for good".to_owned());
    long.into_iter().chain(hidden)
}

/// Scrolls a matrix to its end and says, for its rows or columns, which headings are where their
/// nodes are: seen in the box, and beside a cell of that node.
const HEADINGS: &str = "
    const box = document.querySelector('.pinned');
    box.scrollIntoView();
    box.scrollLeft = box.scrollWidth;
    box.scrollTop = box.scrollHeight / 3;
    const middle = node => {
      const it = node.getBoundingClientRect();
      return { x: it.x + it.width / 2, y: it.y + it.height / 2 };
    };
    const headings = (edge, axis, words) => {
      const inside = [...box.querySelectorAll(`.${edge}:not(.down.across) text`)].filter(text => {
        const { x, y } = middle(text);
        return document.elementFromPoint(x, y) === text.parentNode;
      });
      const named = inside.filter(text => /^[0-9]+$/.test(text.textContent));
      return named.map(text => {
        const cell = box.querySelector(`[data-value*='${words} ${text.textContent}${
          edge === 'down' ? ':' : ' '}']`);
        return Math.round(Math.abs(middle(cell)[axis] - middle(text)[axis]));
      });
    };
    return { wide: box.scrollWidth - box.clientWidth, high: box.scrollHeight - box.clientHeight,
      left: box.scrollLeft, top: box.scrollTop, rows: headings('across', 'y', 'CPU node'),
      columns: headings('down', 'x', 'memory node') };";

#[test]
fn headings_of_a_wide_matrix_stay_in_sight_on_a_phone() {
    let test = "headings_of_a_wide_matrix_stay_in_sight_on_a_phone";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let matrix = laboratory.file("large.txt", large_matrix());
    let latency = ["latency", "--from", &matrix, "--json"];
    browser.open_file(&page_of(&laboratory, "latency", &latency));
    browser.window(390, 844);
    let seen = browser.script(HEADINGS);
    let number = |name: &str| seen[name].as_f64().unwrap();
    // Scrolled as far as it goes to the side, and well down.
    assert!(number("wide") > 500.0 && number("high") > 200.0, "{seen}");
    assert!(number("left") > 500.0 && number("top") > 200.0, "{seen}");
    for (edge, least) in [("rows", 15), ("columns", 8)] {
        let apart = seen[edge].as_array().unwrap();
        assert!(apart.len() >= least, "{edge}: {seen}");
        let is_beside = |it: &serde_json::Value| it.as_f64().is_some_and(|apart| apart <= 4.0);
        assert!(apart.iter().all(is_beside), "{edge}: {seen}");
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn values_are_reached_by_keys() {
    let test = "values_are_reached_by_keys";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let matrix = laboratory.file("small.txt", "53 211 217 248\n");
    let latency = ["latency", "--from", &matrix, "--json"];
    browser.open_file(&page_of(&laboratory, "latency", &latency));
    let value = || {
        let value = browser.script("return document.querySelector('.value').innerText");
        value.as_str().unwrap().to_owned()
    };
    browser.type_into("svg.picture", "\u{e014}");
    let first = until("the first value", || {
        Some(value()).filter(|it| it.contains(" ns"))
    });
    browser.type_into("svg.picture", "\u{e014}\u{e014}");
    until("another value", || {
        let now = value();
        (now.contains(" ns") && now != first).then_some(())
    });
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn values_are_shown_under_the_pointer_with_their_unit() {
    let test = "values_are_shown_under_the_pointer_with_their_unit";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let shown = || browser.script("return document.querySelector('.value').innerText");
    let matrix = laboratory.file("small.txt", "53 211 217 248\n");
    let latency = ["latency", "--from", &matrix, "--json"];
    browser.open_file(&page_of(&laboratory, "latency", &latency));
    browser.hover("svg [data-value*='217']");
    let value = shown();
    assert!(value.as_str().unwrap().contains("217.0 ns"), "{value}");

    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"\nmechanism = \"affinity\"")
        .case("other", "cpus = \"all\"\nmechanism = \"affinity\"");
    let definition = laboratory.file("one.toml", experiment.text());
    laboratory.run(&["run", &definition, "--trials", "6", "--seconds", "0.1"]);
    browser.open_file(&page(&laboratory, "measured", &["last"]));
    browser.hover("svg circle[data-value^='round ']");
    let value = shown();
    let value = value.as_str().unwrap();
    assert!(
        value.starts_with("round ") && value.contains(" logical reads/s, "),
        "{value}"
    );
    browser.hover("h1");
    assert_eq!(
        browser.script("return document.querySelector('.value').hidden"),
        true
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn before_and_after_a_move_are_laid_over_one_another_by_keys() {
    let test = "before_and_after_a_move_are_laid_over_one_another_by_keys";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let part = json!({"name": "/SYSV00000001", "kind": "sysv", "shared": true,
        "processes": null, "page_bytes": 4096,
        "bytes_by_node_before": {"0": 96 << 20, "1": 32 << 20},
        "bytes_by_node_planned": {"1": 128 << 20}, "bytes_by_node_after": {"1": 128 << 20},
        "bytes_to_move": 96 << 20, "policy_before": null, "policy_then": null});
    let document = json!({"format": "numalab.move/1", "target": "postgres:/data", "to": "1",
        "status": "complete", "parts": [part], "bytes_to_move": 96 << 20,
        "bytes_moved": 96 << 20, "pages_moved": 24576, "system_calls": 8, "seconds": 0.5,
        "refused": [], "notes": []});
    let document = laboratory.file("move.json", document.to_string());
    browser.open_file(&page(&laboratory, "move", &[&document]));
    browser.type_into(".compare button, button", "\u{e007}");
    let clip =
        || browser.script("return document.querySelector('.pile svg:last-child').style.clipPath");
    let before = clip();
    browser.type_into(".slider input", "\u{e012}\u{e012}");
    assert_ne!(clip(), before);
    browser.hover(".pile svg:last-child [data-value]");
    let shown = browser.script("return document.querySelector('.value').innerText");
    assert!(shown.as_str().unwrap().contains("node"), "{shown}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
