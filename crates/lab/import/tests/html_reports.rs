//! AWR reports in HTML: the same figures as in text, or a refusal that names its line.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use import::reports_of_file;
use linux::TextFile;
use model::{LoadReport, ReportKind};
use proptest::prelude::*;
use testing::reports;

fn read(html: &str) -> Vec<LoadReport> {
    reports_of_file(&TextFile::new("r.html", html)).unwrap_or_else(|error| panic!("{error}"))
}

fn read_one(html: &str) -> LoadReport {
    let [report] = <[LoadReport; 1]>::try_from(read(html)).unwrap();
    report
}

/// A report but for the line on which it begins.
fn anywhere(report: LoadReport) -> LoadReport {
    LoadReport { line: 0, ..report }
}

#[track_caller]
fn check_error(html: &str, expected: &str) {
    let error = reports_of_file(&TextFile::new("r.html", html)).expect_err(html);
    assert_eq!(error.to_string(), format!("r.html, {expected}"));
}

#[test]
fn html_and_text_of_an_interval_are_the_same_report() {
    assert_eq!(
        anywhere(read_one(reports::AWR_11G_HTML)),
        anywhere(read_one(reports::AWR_11G))
    );
    let (mut html, text) = (read_one(reports::AWR_19C_HTML), read_one(reports::AWR_19C));
    // Text has eight letters for a class, and not enough for these waits.
    for event in &mut html.events {
        let class = event.class.as_deref().unwrap();
        event.class = Some(class.chars().take(8).collect());
    }
    assert_eq!(html.events[3].waits.take(), Some(10));
    assert_eq!(anywhere(html), anywhere(text));
}

#[test]
fn an_event_may_end_in_a_digit_and_its_figures_may_have_blanks() {
    let from = "latch free</td><td align=\"right\" class='awrnc'>10<";
    let to = "events in waitclass 2</td><td align=\"right\" class='awrnc'>1&nbsp;234<";
    assert!(reports::AWR_19C_HTML.contains(from));
    // The average is missing, too: only the cell tells the name from the waits.
    let html = reports::AWR_19C_HTML.replacen(from, to, 1);
    let html = html.replacen("101.00ms", "", 1);
    let report = read_one(&html);
    assert_eq!(report.events[3].name, "events in waitclass 2");
    assert_eq!(report.events[3].waits, Some(1234));
    assert_eq!(report.events[3].total_s.map(|it| it.value), Some(1.0));
}

#[test]
fn the_report_of_a_pluggable_database_is_read() {
    let report = read_one(reports::AWR_12C_PDB_HTML);
    assert_eq!(report.kind, ReportKind::Awr);
    assert_eq!(report.database.as_deref(), Some("STORE"));
    assert_eq!(report.instance.as_deref(), Some("store2"));
    assert_eq!(report.release.as_deref(), Some("12.2.0.1.0"));
    let host = &report.host;
    assert_eq!(host.name.as_deref(), Some("dbserver2"));
    assert_eq!(
        (host.cpus, host.cores, host.sockets),
        (Some(96), Some(48), Some(4))
    );
    assert_eq!(report.interval.begin.as_deref(), Some("03-Mar-26 14:00:05"));
    assert!(report.db_cpu_s.is_some() && !report.events.is_empty());
    assert_eq!(report.contradictions, [""; 0]);
}

#[test]
fn html_may_be_written_in_any_way_that_browsers_show_alike() {
    let expected = anywhere(read_one(reports::AWR_11G_HTML));
    let check = |what: &str, html: &str| {
        assert_ne!(html, reports::AWR_11G_HTML, "{what}");
        assert_eq!(anywhere(read_one(html)), expected, "{what}");
    };
    let of = |from: &str, to: &str| reports::AWR_11G_HTML.replace(from, to);
    check("no end of cells", &of("</td>", "").replace("</th>", ""));
    check("no end of rows", &of("</tr>", ""));
    check("a line for each cell", &of("<td", "\n<td"));
    check("all in one line", &of("\n", " "));
    check("carriage returns", &of("\n", "\r\n"));
    check("spaces by name", &of("&#160;", "&nbsp;"));
    let loud = of("<table", "<TABLE").replace("summary=", "SUMMARY = ");
    check("capital letters", &loud);
    check("a comment", &of("<p />", "<!-- <table> -->"));
    let marked = of(
        "<td scope=\"row\" class='awrnc'>DB CPU</td>",
        "<td><b>DB</b> CPU</td>",
    );
    check("marked text", &marked);
    let spooled = format!("\nSnapshots as entered\n\n{}", reports::AWR_11G_HTML);
    check("what SQL*Plus said before it", &spooled);
}

#[test]
fn a_file_may_hold_several_pages() {
    let both = format!("{}\n{}", reports::AWR_11G_HTML, reports::AWR_19C_HTML);
    let found: Vec<_> = read(&both).into_iter().map(anywhere).collect();
    let expected = [reports::AWR_11G_HTML, reports::AWR_19C_HTML];
    assert_eq!(found, expected.map(|html| anywhere(read_one(html))));
}

#[test]
fn what_is_no_report_of_one_instance_is_refused_with_its_line() {
    let cluster = "an AWR report of one instance (awrrpt.sql), or a Statspack report, found a \
                   report of all instances of a cluster (awrgrpt.sql); take the report of one \
                   instance (awrrpt.sql)";
    let title = "WORKLOAD REPOSITORY report for";
    let of = |to: &str| reports::AWR_11G_HTML.replace(title, to);
    let html = of("WORKLOAD REPOSITORY REPORT (RAC)");
    check_error(&html, &format!("line 8: expected {cluster}"));
    // Release 12 and later print no such title, but a table of instances.
    let table = "<table summary=\"Database Instances Included In Report\"><tr><th>Inst #</th></tr>";
    let html = reports::AWR_11G_HTML.replacen("<p />\n", &format!("{table}</table>\n<p />\n"), 1);
    check_error(&html, &format!("line 11: expected {cluster}"));
    let html = of("WORKLOAD REPOSITORY COMPARE PERIOD REPORT");
    let found = "found a comparison of two periods";
    let expected = "expected an AWR report of one instance (awrrpt.sql), or a Statspack report";
    check_error(&html, &format!("line 8: {expected}, {found}"));
    let found = "found an HTML page without tables";
    check_error(
        "<html><p>Not found</p></html>\n",
        &format!("line 1: {expected}, {found}"),
    );
}

#[test]
fn a_figure_that_is_none_is_named_with_its_line() {
    let html = reports::AWR_11G_HTML.replacen("3,495,618.2", "3.495.618,2", 1);
    let before = html.split("3.495.618,2").next().unwrap();
    let expected = "expected a figure per second, such as \"6,323,758.9\", found \
                    \"3.495.618,2 25,222,299.9\"";
    check_error(
        &html,
        &format!("line {}: {expected}", before.lines().count()),
    );
}

#[test]
fn a_page_that_contradicts_itself_is_refused() {
    let table = reports::AWR_11G_HTML.split_inclusive("</table>");
    let table = table.filter(|part| part.contains("load profile")).last();
    let table = table.unwrap().split_once("<table").unwrap().1;
    let repeated = |table: &str| {
        let again = format!("<table{table}</body>");
        reports::AWR_11G_HTML.replace("</body>", &again)
    };
    let expected = anywhere(read_one(reports::AWR_11G_HTML));
    assert_eq!(anywhere(read_one(&repeated(table))), expected);
    let other = table.replace("3,495,618.2", "3,495,618.3");
    let error = reports_of_file(&TextFile::new("r.html", repeated(&other))).unwrap_err();
    let says = "expected one table \"This table displays load profile\" in a report, found one \
                that differs from that on line 39";
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn a_mebibyte_of_tags_that_nobody_closes_is_refused() {
    for tag in [
        "<table>", "<tr>", "<td>", "<b>", "<!--", "<td a=", "&amp", "<",
    ] {
        let html = format!("<html>{}", tag.repeat((1 << 20) / tag.len()));
        let error = reports_of_file(&TextFile::new("r.html", html)).expect_err(tag);
        assert!(
            error.to_string().starts_with("r.html, line 1: expected"),
            "{tag}: {error}"
        );
    }
}

/// Pieces of which pages are made, to reach deeper than arbitrary text does.
const PIECES: [&str; 28] = [
    "<html>",
    "</html>",
    "<h1>WORKLOAD REPOSITORY report for</h1>",
    "<table>",
    "<table summary=\"This table displays load profile\">",
    "<table summary='This table displays host information'>",
    "</table>",
    "<tr>",
    "</tr>",
    "<td>",
    "<th>",
    "</td>",
    "</th>",
    "<pre>",
    "</pre>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<b>",
    "<p />",
    "&nbsp;",
    "&#10;",
    "\n",
    "Logical reads:",
    "6,323,758.9",
    "Event",
    "Waits",
];

proptest! {
    #[test]
    fn no_text_panics(html: String) {
        let _ = reports_of_file(&TextFile::new("r.html", format!("<{html}")));
    }

    #[test]
    fn no_pieces_of_pages_panic(pieces in prop::collection::vec(0..PIECES.len(), 0..80)) {
        let html: String = pieces.iter().map(|index| PIECES[*index]).collect();
        let _ = reports_of_file(&TextFile::new("r.html", html));
    }

    #[test]
    fn a_page_that_is_cut_off_is_refused(at in 0usize..20_000, which in 0usize..3) {
        let html = [reports::AWR_11G_HTML, reports::AWR_12C_PDB_HTML, reports::AWR_19C_HTML][which];
        let end = html.find("</html>").unwrap() + "</html".len();
        let cut = &html[..at % end];
        prop_assert!(reports_of_file(&TextFile::new("r.html", cut)).is_err());
    }

    #[test]
    fn no_damaged_byte_panics(at in 0usize..20_000, byte in 0u8..128, which in 0usize..3) {
        let html = [reports::AWR_11G_HTML, reports::AWR_12C_PDB_HTML, reports::AWR_19C_HTML][which];
        let mut html = html.as_bytes().to_vec();
        let at = at % html.len();
        html[at] = byte;
        let html = String::from_utf8(html).unwrap();
        for report in reports_of_file(&TextFile::new("r.html", html)).unwrap_or_default() {
            prop_assert!(report.profile.logical_reads_per_s.value.is_finite());
        }
    }
}
