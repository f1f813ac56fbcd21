//! The pages of `numalab serve` as a person uses them, in Chromium.
//!
//! Tests of serve, page.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use crate::browser::Browser;
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::served::{Served, stored_run};

#[test]
fn runs_are_picked_and_compared_and_every_page_can_be_read() {
    let test = "runs_are_picked_and_compared_and_every_page_can_be_read";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let (older, newer) = (stored_run(&laboratory), stored_run(&laboratory));
    let server = Served::start(&laboratory);
    let mut wrong = Vec::new();
    let mut look = |name: &str| {
        for (theme, width) in [("light", 1280), ("dark", 360)] {
            browser.media(theme, "screen");
            browser.width(width);
            let problems = browser.problems();
            wrong.extend(
                problems
                    .iter()
                    .map(|it| format!("{name}, {theme}, {width} px: {it}")),
            );
        }
        browser.width(1280);
        wrong.extend(
            browser
                .complaints()
                .iter()
                .map(|it| format!("{name}: {it}")),
        );
    };
    browser.open(&server.url("/"));
    look("now");
    browser.click("nav a[href='/runs']");
    assert!(browser.address().ends_with("/runs"));
    look("runs");
    browser.click(&format!("input[value='{newer}']"));
    // By keyboard alone: back to the list, pick the other, and compare.
    browser.type_into(&format!("input[value='{older}']"), " ");
    browser.type_into("form button", "\u{e007}");
    // A key does not wait for the page that it leads to, as a click does.
    until("the comparison", || {
        browser.address().contains("/compare?").then_some(())
    });
    look("comparison");
    let text = browser.text();
    assert!(
        text.contains(&format!("{older} (first), {newer} (second)")),
        "{text}"
    );

    browser.open(&server.url(&format!("/runs/{newer}")));
    look("report");
    browser.hover("svg circle[data-value]");
    let shown = browser.script("return document.querySelector('.value').innerText");
    assert!(shown.as_str().unwrap().contains(" reported, "), "{shown}");
    browser.open(&server.url("/compare?a=none&b=last"));
    assert!(browser.text().contains("Not found"));
    // A page that is not there is a complaint of the browser.
    assert_eq!(browser.complaints().len(), 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_live_page_updates_itself_and_says_when_the_server_is_gone() {
    let test = "the_live_page_updates_itself_and_says_when_the_server_is_gone";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let server = Served::start(&laboratory);
    browser.open(&server.url("/"));
    browser.script(
        "window.loadedOnce = true; window.seen = document.getElementById('live').innerHTML;
         const row = document.querySelector('#live tbody tr');
         getSelection().setBaseAndExtent(row.cells[1].firstChild, 0, row.cells[1], 1)",
    );
    let selected = || browser.script("return getSelection().toString()");
    let before = selected();
    assert_ne!(before, json!(""));
    until("the page has updated itself", || {
        let is_new = "return window.loadedOnce && /Updated/.test(document.body.innerText) && \
                      window.seen !== document.getElementById('live').innerHTML";
        (browser.script(is_new) == json!(true)).then_some(())
    });
    assert_eq!(selected(), before);
    let host = browser.script("return [document.title, document.querySelector('h1').innerText]");
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let title = format!("{name} now");
    assert_eq!(host, json!([format!("{title} – numalab"), title]));
    let aligned = "return getComputedStyle(document.querySelector('td.number')).textAlign";
    assert_eq!(browser.script(aligned), json!("right"));
    let text = browser.text();
    assert!(text.contains("As of 20") && text.contains(" UTC"), "{text}");
    // Two looks are a curve.
    let curve = "return document.querySelector('.curve polyline').points.length > 1";
    until("a curve", || {
        (browser.script(curve) == json!(true)).then_some(())
    });
    assert_eq!(browser.complaints(), Vec::<String>::new());
    server.under_way.signal(Signal::TERM);
    server.under_way.finish().with_code(0);
    until("the page says that it is old", || {
        let since =
            "return /Not updated since \\d\\d:\\d\\d:\\d\\d UTC/.test(document.body.innerText)";
        (browser.script(since) == json!(true)).then_some(())
    });
}

#[test]
fn who_has_the_token_logs_in_once() {
    let test = "who_has_the_token_logs_in_once";
    let laboratory = Laboratory::new();
    let Some(browser) = Browser::start(&laboratory, test) else {
        return;
    };
    let token = "0123456789abcdefghijklmn";
    let file = laboratory.file("token", token);
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let options = ["--listen", "127.0.0.1:0", "--token-file", &file];
    let server = Served::with(&laboratory, &options);
    browser.open(&server.url("/"));
    assert!(!browser.text().contains("Nodes"));
    browser.type_into("input[name=token]", "something else");
    browser.click("form button");
    assert!(browser.text().contains("This is not the token"));
    browser.type_into("input[name=token]", token);
    browser.click("form button");
    assert!(browser.text().contains("Nodes"));
    browser.click("nav a[href='/runs']");
    assert!(browser.text().contains("Runs"));
}
