//! Reads what articles print, every layout that is known, every fault in each, and any text.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use import::reports_of_file;
use linux::TextFile;
use model::{LoadReport, Printed, ReportKind};
use proptest::prelude::*;
use testing::reports;

fn read(text: &str) -> Vec<LoadReport> {
    reports_of_file(&TextFile::new("r.txt", text)).unwrap_or_else(|error| panic!("{error}"))
}

fn read_one(text: &str) -> LoadReport {
    let [report] = <[LoadReport; 1]>::try_from(read(text)).unwrap();
    report
}

fn value(printed: Option<Printed>) -> Option<f64> {
    printed.map(|it| (it.value * 1e9).round() / 1e9)
}

#[test]
fn article_001_is_read_to_the_digit() {
    // Logical reads, DB time and DB CPU per second; DB CPU in all; its share of DB time.
    let expected = [
        (6_323_758.9, 8.9, 8.9, 2700.6),
        (3_495_618.2, 8.9, 5.4, 1638.6),
        (5_786_023.5, 8.9, 5.9, 1775.1),
        (5_182_622.4, 8.9, 5.4, 1627.8),
        (8_623_444.6, 9.0, 8.8, 2677.3),
    ];
    for (text, (reads, time, cpu, cpu_s)) in reports::ARTICLE_001.iter().zip(expected) {
        let report = read_one(text);
        assert_eq!(report.kind, ReportKind::Excerpt);
        assert_eq!(report.profile.logical_reads_per_s.value, reads);
        assert_eq!(value(report.profile.db_time_per_s), Some(time));
        assert_eq!(value(report.profile.db_cpu_per_s), Some(cpu));
        assert_eq!(value(report.db_cpu_s), Some(cpu_s));
        assert_eq!(report.interval.elapsed_s, None);
        assert_eq!(report.cpus_delivered(), report.profile.db_cpu_per_s);
    }
}

#[test]
fn waits_of_article_001_are_read_with_their_class() {
    let events = read_one(reports::ARTICLE_001[1]).events;
    let [quantum] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert_eq!(quantum.name, "resmgr:cpu quantum");
    assert_eq!(
        (quantum.waits, value(quantum.total_s)),
        (Some(16_005), Some(1065.4))
    );
    assert_eq!(value(quantum.share_of_db_time), Some(0.394));
    assert_eq!(quantum.class.as_deref(), Some("Schedule"));
    let names: Vec<String> = read_one(reports::ARTICLE_001[2])
        .events
        .into_iter()
        .map(|event| event.name)
        .collect();
    assert_eq!(names, ["db file sequential read", "latch free"]);
}

#[test]
fn the_two_runs_of_article_000_are_two_reports() {
    for (text, reads, cpu_s) in [
        (
            reports::ARTICLE_000_LOCAL,
            [4_551_737.9, 4_685_712.3],
            [1423.2, 1431.4],
        ),
        (
            reports::ARTICLE_000_REMOTE,
            [2_133_879.6, 2_203_307.5],
            [1420.7, 1432.6],
        ),
    ] {
        let reports = read(text);
        let found: Vec<f64> = reports
            .iter()
            .map(|report| report.profile.logical_reads_per_s.value)
            .collect();
        assert_eq!(found, reads);
        let found: Vec<f64> = reports
            .iter()
            .map(|report| report.db_cpu_s.unwrap().value)
            .collect();
        assert_eq!(found, cpu_s);
    }
}

#[test]
fn the_layout_of_11g_is_read() {
    let report = read_one(reports::AWR_11G);
    assert_eq!(report.kind, ReportKind::Awr);
    assert_eq!(report.database.as_deref(), Some("SHOP"));
    assert_eq!(report.instance.as_deref(), Some("shop1"));
    assert_eq!(report.release.as_deref(), Some("11.2.0.4.0"));
    let host = &report.host;
    assert_eq!(host.name.as_deref(), Some("dbserver"));
    assert_eq!(host.platform.as_deref(), Some("Linux x86 64-bit"));
    assert_eq!(
        (host.cpus, host.cores, host.sockets),
        (Some(160), Some(80), Some(8))
    );
    assert_eq!(host.memory_bytes, Some(1_083_942_371_328));
    assert_eq!(report.interval.begin.as_deref(), Some("02-Feb-26 08:00:12"));
    assert_eq!(report.interval.end.as_deref(), Some("02-Feb-26 08:05:15"));
    assert_eq!(value(report.interval.elapsed_s), Some(303.0));
    // The time model has a digit more than the minutes of the head and the top events.
    assert_eq!(value(report.db_time_s), Some(2704.6));
    assert_eq!(value(report.db_cpu_s), Some(1638.6));
    assert_eq!(report.profile.logical_reads_per_s.value, 3_495_618.2);
    assert_eq!(value(report.profile.physical_reads_per_s), Some(0.7));
    let names: Vec<&str> = report
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    let expected = [
        "resmgr:cpu quantum",
        "gc cr block 2-way",
        "enq: TX - row lock contention",
    ];
    assert_eq!(names, expected);
    let parameters: Vec<String> = report
        .parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let expected = [
        "cpu_count=6",
        "db_cache_size=21474836480",
        "processor_group_name=oracle",
        "resource_manager_plan=default_plan",
        "sga_target=0",
        "use_large_pages=ONLY",
    ];
    assert_eq!(parameters, expected);
}

#[test]
fn cpus_delivered_come_from_the_seconds_where_the_interval_is_known() {
    let delivered = read_one(reports::AWR_11G).cpus_delivered().unwrap();
    assert!((delivered.value - 1638.6 / 303.0).abs() < 1e-12);
    // Half of 0.1 s of 1638.6 s, and half of 0.6 s of 303 s.
    assert!(
        (delivered.half_unit - 0.0055).abs() < 0.0001,
        "{delivered:?}"
    );
}

#[test]
fn the_layout_of_19c_is_read() {
    let report = read_one(reports::AWR_19C);
    assert_eq!(report.database.as_deref(), Some("SHOP"));
    assert_eq!(report.instance.as_deref(), Some("shop1"));
    assert_eq!(report.release.as_deref(), Some("19.0.0.0.0"));
    assert_eq!(report.host.name.as_deref(), Some("dbserver"));
    assert_eq!(report.host.cpus, Some(64));
    assert_eq!(value(report.interval.elapsed_s), Some(3601.2));
    assert_eq!(value(report.db_time_s), Some(180_060.0));
    assert_eq!(value(report.db_cpu_s), Some(144_100.0));
    assert_eq!(report.profile.logical_reads_per_s.value, 31_234_567.8);
    assert_eq!(value(report.profile.db_cpu_per_s), Some(40.0));
    let latches = &report.events[0];
    assert_eq!(latches.name, "latch: cache buffers chains");
    assert_eq!(value(latches.total_s), Some(20_200.0));
    // Too many waits for their column: not known, and not 0.
    assert_eq!(
        (report.events[3].name.as_str(), report.events[3].waits),
        ("latch free", None)
    );
}

#[test]
fn the_layout_of_statspack_is_read() {
    let report = read_one(reports::STATSPACK_11G);
    assert_eq!(report.kind, ReportKind::Statspack);
    assert_eq!(
        (report.database.as_deref(), report.instance.as_deref()),
        (None, Some("shop1"))
    );
    assert_eq!(report.host.name.as_deref(), Some("dbserver"));
    assert_eq!(report.host.cores, Some(80));
    assert_eq!(value(report.interval.elapsed_s), Some(303.0));
    assert_eq!(value(report.db_cpu_s), Some(1638.6));
    assert_eq!(report.profile.logical_reads_per_s.value, 3_495_618.2);
    assert_eq!(report.events.len(), 1);
}

/// A table of top events in an excerpt, with a row of CPU time of 55.3 s, 1.1 %.
fn with_events(heading: &str, rows: &str) -> LoadReport {
    read_one(&format!(
        "Load Profile\nLogical reads: 1,000.0 10.0\n\n{heading}\nDB CPU 55.3 1.1\n{rows}"
    ))
}

/// Headings of release 12 and later, and those of release 11 and before.
const AVERAGES_WITH_UNITS: &str = "Event                Waits Time (sec)      Wait   time Class";
const AVERAGES_IN_MS: &str = "Event                 Waits     Time(s)   (ms)   time Wait Class";

#[test]
fn an_average_says_its_unit_glued_on_or_apart() {
    let check = |heading, row: &str, total: f64, share: Option<f64>| {
        let report = with_events(heading, &format!("{row}\n"));
        let [event] = report.events.as_slice() else {
            panic!("{:?}", report.events)
        };
        assert_eq!(event.name, "resmgr:cpu quantum", "{row}");
        assert_eq!(value(event.total_s), Some(total), "{row}");
        assert_eq!(value(event.share_of_db_time), share, "{row}");
        assert_eq!(report.contradictions, [""; 0], "{row}");
    };
    let share = Some(0.989);
    for row in [
        "resmgr:cpu quantum   94   4968.8   52.86s   98.9 Schedule",
        "resmgr:cpu quantum   94   4968.8   52.86 s  98.9 Schedule",
        "resmgr:cpu quantum   94   4968.8   52860.00ms 98.9 Schedule",
        "resmgr:cpu quantum   94   4968.8   52860.00 ms 98.9 Schedule",
        "resmgr:cpu quantum   9,937,600 4968.8 500.00us 98.9",
        "resmgr:cpu quantum   9,937.6K  4968.8 500.00 us 98.9",
        "resmgr:cpu quantum   99.4M  4968.8 50000.00 ns 98.9",
        "resmgr:cpu quantum   ######### 4968.8 52.86 s 98.9",
    ] {
        check(AVERAGES_WITH_UNITS, row, 4968.8, share);
    }
    let in_ms = "resmgr:cpu quantum   94   4,969   52860   98.9 Scheduler";
    check(AVERAGES_IN_MS, in_ms, 4969.0, share);
    // Without a share; and without an average.
    check(
        AVERAGES_WITH_UNITS,
        "resmgr:cpu quantum 94 4968.8 52.86 s",
        4968.8,
        None,
    );
    check(
        AVERAGES_WITH_UNITS,
        "resmgr:cpu quantum 94 4968.8 98.9 Schedule",
        4968.8,
        share,
    );
}

#[test]
fn the_next_table_may_follow_the_events_without_an_empty_line() {
    let events = "resmgr:cpu quantum   94   4968.8   52.86s   98.9 Schedule\n";
    for next in [
        "Host CPU (CPUs:  160 Cores:   80 Sockets:    8)\n~~~~~~~~         Load Average\n",
        "Host CPU (CPUs:  160 Cores:   80 Sockets:    8)\n",
        "Wait Classes by Total Wait Time\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n",
        "-> ordered by wait time desc\n",
        "          -----------------------------\nHost CPU (CPUs:  160)\n",
    ] {
        let report = with_events(AVERAGES_WITH_UNITS, &format!("{events}{next}"));
        assert_eq!(report.events.len(), 1, "{next}");
    }
    // What is no title is a row that lacks its figures.
    let text = "Load Profile\nLogical reads: 1.0\nEvent Waits\nlatch free 3\nHost CPU (CPUs: 1)\n";
    check_error(
        text,
        "line 4: expected an event with its waits, time, average and share of DB time, or with \
         its time and share, found \"latch free 3\"",
    );
}

#[test]
fn reports_whose_figures_agree_have_no_contradictions() {
    let samples = [reports::AWR_11G, reports::AWR_19C, reports::STATSPACK_11G];
    let articles = [reports::ARTICLE_000_LOCAL, reports::ARTICLE_000_REMOTE];
    let all = samples
        .into_iter()
        .chain(articles)
        .chain(reports::ARTICLE_001);
    for report in all.flat_map(read) {
        assert_eq!(
            report.contradictions, [""; 0],
            "{:?} {:?}",
            report.kind, report.events
        );
    }
}

/// Changes one figure of a sample; answers whether the contradiction is found.
#[track_caller]
fn check_contradiction(text: &str, from: &str, to: &str, expected: &str) {
    assert!(text.contains(from), "{from}");
    let found = read_one(&text.replacen(from, to, 1)).contradictions;
    let is_found = found.iter().any(|it| it.contains(expected));
    assert!(is_found, "{from} {to}: {found:#?}");
}

#[test]
fn times_and_rates_are_checked_against_one_another() {
    let check = |from, to, expected| check_contradiction(reports::AWR_11G, from, to, expected);
    check(
        "08:05:15",
        "08:15:15",
        "the snapshots are 903 s apart, the elapsed time is 303 s",
    );
    check(
        "5.05 (mins)",
        "5.55 (mins)",
        "the snapshots are 303 s apart",
    );
    check(
        "45.08 (mins)",
        "45.50 (mins)",
        "DB time is 2704.6 s in one place and 2730",
    );
    check(
        "2,704.6\n",
        "2,714.6\n",
        "DB time is 2714.6 s in one place and 2705 s",
    );
    check(
        "1,638.6 ",
        "1,538.6 ",
        "DB CPU is 1538.6 s in one place and 1639 s",
    );
    check(
        "3,495,618.2  ",
        "349,561.8  ",
        "DB Time(s) and Logical reads of the load profile",
    );
    check("8.9      ", "9.9      ", "DB Time(s) and ");
    check("5.4      ", "6.4      ", "DB CPU(s)");
    check("0.7      ", "70.7      ", "Physical reads");
}

#[test]
fn waits_averages_times_and_shares_are_checked_against_one_another() {
    let check = |from, to, expected| check_contradiction(reports::AWR_11G, from, to, expected);
    let quantum = "16,005       1,065     67   39.4";
    check(
        quantum,
        "16,005       1,065     52   39.4",
        "resmgr:cpu quantum: 16005 waits of 52 ms take 832.3 s, not 1065 s",
    );
    check(
        quantum,
        "26,005       1,065     67   39.4",
        "resmgr:cpu quantum: 26005 waits of 67 ms take 1742.3 s",
    );
    check(
        quantum,
        "16,005       1,065     67   59.4",
        "resmgr:cpu quantum: 1065 s of a DB time of 2704.6 s are 39.4 %, not 59.4 %",
    );
    check(
        quantum,
        "16,005       1,065     67   59.4",
        "the shares of the top events add up to 120.0 % of DB time",
    );
    check(
        "1,639          60.6",
        "1,639          40.6",
        "DB CPU: 1639 s of a DB time of 2704.6 s",
    );
    check_contradiction(
        reports::AWR_19C,
        "52.86s",
        "52.86ms",
        "enq: TX - row lock contention: 120 waits of 52.86 ms take 6.3 s",
    );
    check_contradiction(
        reports::AWR_19C,
        "144.1K  ",
        "154.1K  ",
        "DB CPU: 154100 s of a DB time of 180060 s are 85.6 %",
    );
    check_contradiction(
        reports::STATSPACK_11G,
        "1,065     67",
        "1,065     97",
        "resmgr:cpu quantum: 16005 waits of 97 ms",
    );
}

#[test]
fn a_figure_that_may_be_cut_off_is_none() {
    for text in [
        "Load Profile\nLogical reads: 6,323",
        "Load Profile\nLogical reads: 6,323,758.9   ",
        "Load Profile\nLogical reads: 6,323,758.9\nEvent Waits\nDB CPU 2700.6 98",
    ] {
        let last = text.lines().count();
        let error = reports_of_file(&TextFile::new("r.txt", text)).expect_err(text);
        let expected = format!("r.txt, line {last}: expected a line break at the end");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    read_one("Load Profile\nLogical reads: 6,323,758.9\nEnd of Report");
}

#[test]
fn a_file_may_hold_several_reports() {
    let both = format!("{}{}", reports::AWR_11G, reports::STATSPACK_11G);
    let kinds: Vec<ReportKind> = read(&both).iter().map(|report| report.kind).collect();
    assert_eq!(kinds, [ReportKind::Awr, ReportKind::Statspack]);
    let lines = reports::AWR_11G.lines().count();
    assert_eq!(read(&both)[1].line, lines + 1);
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = reports_of_file(&TextFile::new("r.txt", text)).expect_err(text);
    assert_eq!(error.to_string(), format!("r.txt, {expected}"));
}

#[test]
fn another_layout_is_named_with_its_line() {
    let of = |from: &str, to: &str| reports::AWR_11G.replacen(from, to, 1);
    check_error(
        &of("3,495,618.2", "3.495.618,2"),
        "line 28: expected a figure per second, such as \"6,323,758.9\", \
         found \"3.495.618,2       25,222,299.9\"",
    );
    check_error(
        &of("5.05 (mins)", "303 s"),
        "line 15: expected minutes after \"Elapsed:\", such as \"5.05 (mins)\", found \"303 s\"",
    );
    check_error(
        &of("160    80", "1x0    80"),
        "line 9: expected a number below \"CPUs\", found \"1x0\"",
    );
    check_error(
        &of("16,005       1,065     67   39.4", "16,005"),
        "line 46: expected an event with its waits, time, average and share of DB time, or with \
         its time and share, found \"resmgr:cpu quantum                   16,\"…",
    );
    check_error(
        &of("1,638.6         60.6", "?"),
        "line 66: expected seconds after \"DB CPU\", found \"?\"",
    );
}

#[test]
fn a_truncated_report_says_what_is_missing() {
    let expected = "expected a table \"Load Profile\" with a row \"Logical read (blocks):\" or \
                    \"Logical reads:\", found the end of the report";
    let head: String = reports::AWR_11G
        .lines()
        .take(24)
        .map(|line| format!("{line}\n"))
        .collect();
    check_error(&head, &format!("line 24: {expected}"));
    check_error("no report\n", &format!("line 1: {expected}"));
}

/// Words of which reports are made, to reach deeper than arbitrary text does.
const WORDS: [&str; 30] = [
    "52.86",
    "s",
    "ms ",
    "500.00us",
    "Host CPU",
    "Begin Snap: 1 02-Feb-26 08:00:12\n",
    "WORKLOAD REPOSITORY report for\n",
    "STATSPACK report for\n",
    "Load Profile",
    "Per Second",
    "DB CPU",
    "DB CPU(s):",
    "Logical reads:",
    "Event",
    "Waits",
    "----",
    "~~~~",
    "\n",
    "\n\n",
    " ",
    "Run 1:",
    "Run 2: ",
    "Run 4294967296:",
    "Elapsed:",
    "(mins)",
    "6,323,758.9",
    "####",
    "CPUs",
    "Statistic Name Time (s)\n",
    "Parameter Name\n",
];

proptest! {
    #[test]
    fn no_text_panics(text: String) {
        let _ = reports_of_file(&TextFile::new("r.txt", text));
    }

    #[test]
    fn no_words_of_reports_panic(words in prop::collection::vec(0..WORDS.len(), 0..80)) {
        let text: String = words.iter().map(|index| WORDS[*index]).collect();
        let _ = reports_of_file(&TextFile::new("r.txt", text));
    }

    #[test]
    fn no_cut_panics(at in 0usize..6000, which in 0usize..3) {
        let text = [reports::AWR_11G, reports::AWR_19C, reports::STATSPACK_11G][which];
        let cut: String = text.chars().take(at).collect();
        // Whatever is read of it is what the whole report says: no figure is cut off.
        if let Ok(reports) = reports_of_file(&TextFile::new("r.txt", cut)) {
            let (whole, found) = (read_one(text), &reports[0]);
            prop_assert_eq!(whole.profile.logical_reads_per_s, found.profile.logical_reads_per_s);
            prop_assert!(whole.events.starts_with(&found.events));
            prop_assert!(found.contradictions.is_empty(), "{:?}", found.contradictions);
        }
    }

    #[test]
    fn no_damaged_byte_panics(at in 0usize..5000, byte in 0u8..128, which in 0usize..3) {
        let text = [reports::AWR_11G, reports::AWR_19C, reports::STATSPACK_11G][which];
        let mut text = text.as_bytes().to_vec();
        let at = at % text.len();
        text[at] = byte;
        let text = String::from_utf8(text).unwrap();
        if let Ok(reports) = reports_of_file(&TextFile::new("r.txt", text)) {
            for report in reports {
                prop_assert!(report.profile.logical_reads_per_s.value.is_finite());
                prop_assert!(report.cpus_delivered().is_none_or(|it| it.value.is_finite()));
            }
        }
    }
}

/// The heading of the events of 11.2 with its columns.
const COLUMNS: &str = "\
Event                                 Waits     Time(s)   (ms)   time Wait Class
------------------------------ ------------ ----------- ------ ------ ----------";

#[test]
fn an_event_may_end_in_a_digit() {
    let check = |heading, row: &str| {
        let report = with_events(heading, &format!("{row}\n"));
        let [event] = report.events.as_slice() else {
            panic!("{:?}", report.events)
        };
        assert_eq!(event.name, "events in waitclass 2", "{row}");
        assert_eq!(event.waits, Some(94), "{row}");
        assert_eq!(value(event.total_s), Some(4969.0), "{row}");
        assert_eq!(value(event.share_of_db_time), Some(0.989), "{row}");
    };
    // Behind columns that are kept, and in text that has lost them.
    let row = "events in waitclass 2                    94       4,969  52860   98.9 Other";
    check(COLUMNS, row);
    let without_average = row.replace("52860", "     ");
    check(COLUMNS, &without_average);
    check(
        AVERAGES_IN_MS,
        "events in waitclass 2 94 4,969 52860 98.9 Other",
    );
}

#[test]
fn digits_may_be_grouped_by_blanks() {
    let profile = |row: &str| {
        let text = format!("Load Profile\n{row}\n\n");
        reports_of_file(&TextFile::new("r.txt", text))
    };
    for gap in [" ", "\u{a0}", "\u{202f}", "\u{fffd}"] {
        let row = format!("Logical reads:   1{gap}235{gap}000.5    12{gap}345.6");
        let report = profile(&row).unwrap().remove(0);
        assert_eq!(
            report.profile.logical_reads_per_s.value, 1_235_000.5,
            "{gap:?}"
        );
    }
    let error = profile("Logical reads: 5 000.0 12 345.6")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 2: expected figures in columns"),
        "{error}"
    );
    let row = "resmgr:cpu quantum                   16 005       1 065     67   39.4 Scheduler";
    let report = with_events(COLUMNS, &format!("{row}\n"));
    assert_eq!(report.events[0].waits, Some(16_005));
    assert_eq!(value(report.events[0].total_s), Some(1065.0));
}

#[test]
fn a_long_name_in_the_head_does_not_shift_its_columns() {
    let instance = "shop1               1 02-Feb";
    let long = reports::AWR_11G.replacen(instance, "production_shop_1          1 02-Feb", 1);
    let report = read_one(&long);
    assert_eq!(report.instance.as_deref(), Some("production_shop_1"));
    assert_eq!(report.release.as_deref(), Some("11.2.0.4.0"));
    let host = "dbserver         Linux";
    let long = reports::AWR_11G.replacen(host, "dbserver.long.example Linux", 1);
    let report = read_one(&long);
    assert_eq!(
        (report.host.cpus, report.host.sockets),
        (Some(160), Some(8))
    );
    assert_eq!(report.host.name.as_deref(), Some("dbserver.long.example"));
}

#[test]
fn two_load_profiles_that_differ_are_refused() {
    let again = "\nLoad Profile    Per Second\n~~~~~~~~~~~~   -----------\n Logical reads:  ";
    let of = |reads: &str| format!("{}{again}{reads}\n\n", reports::AWR_11G);
    assert_eq!(read_one(&of("3,495,618.2  25,222,299.9")).line, 1);
    let error = reports_of_file(&TextFile::new("r.txt", of("1,000.0 10.0"))).unwrap_err();
    let error = error.to_string();
    let expected = "expected one load profile in a report, found one that differs from that on \
                    line 23";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn dates_of_other_languages_are_kept_or_said() {
    let of = |date: &str| read_one(&reports::AWR_11G.replacen("02-Feb-26 08:00:12", date, 1));
    for date in [
        "02-F\u{e9}vr.-26 08:00:12",
        "02-2\u{6708} -26 08:00:12",
        "02 f\u{e9}vr. 2026 08:00:12",
    ] {
        let report = of(date);
        assert_eq!(report.interval.begin.as_deref(), Some(date));
        assert_eq!(report.contradictions, [""; 0]);
    }
    let report = of("02-Feb-26");
    assert_eq!(report.interval.begin, None);
    assert!(report.contradictions[0].starts_with("\"Begin Snap:\" on line 13 has no time"));
}
