//! Debian's Chromium, driven as a person does it: by chromedriver (W3C WebDriver), which is asked
//! by curl.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::served::curl;

/// The member of a found element that has its id (W3C WebDriver, section 11).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// What is wrong with the page, as a person would see it.
const PROBLEMS: &str = include_str!("browser_problems.js");

/// Which pictures have no table behind them.
const TABLES: &str = include_str!("browser_tables.js");

/// Starts axe (axe-core) on the page, and keeps what it finds serious.
const AXE: &str = "axe.run({resultTypes: ['violations']}).then(found => { window.serious = \
    found.violations.filter(it => ['serious', 'critical'].includes(it.impact)).map(it => \
    `${it.id}: ${it.help}: ${it.nodes[0].html.slice(0, 200)}`) }, \
    failed => { window.serious = [String(failed)] })";

/// A browser with one page; ends when dropped.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    /// What it is asked next.
    body: PathBuf,
}

impl Browser {
    /// Starts a browser; `None` if there is none, which is reported.
    pub(crate) fn start(laboratory: &Laboratory, test: &str) -> Option<Self> {
        let has = |name: &str| Command::new(name).arg("--version").output().is_ok();
        if !has("chromium") || !has("chromedriver") || !has("curl") {
            not_run(
                test,
                Need::Package,
                "it needs chromium, chromium-driver and curl",
            );
            return None;
        }
        let folder = laboratory.state().with_file_name("browser");
        fs::create_dir_all(&folder).unwrap();
        let said = folder.join("driver.log");
        let driver = Command::new("chromedriver")
            .args(["--port=0", "--log-level=WARNING"])
            .env("HOME", &folder)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&said).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut browser = Browser {
            driver,
            session: String::new(),
            body: folder.join("body.json"),
        };
        let port = until("chromedriver says its port", || {
            let said = fs::read_to_string(&said).ok()?;
            let (_, rest) = said.split_once("successfully on port ")?;
            rest.split_once('.').map(|(port, _)| port.to_owned())
        });
        browser.session = format!("http://127.0.0.1:{port}");
        let profile = folder.join("profile");
        let arguments = [
            "--headless=new".to_owned(),
            // The tests may run as root, as in a container, where Chromium has no sandbox.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--no-first-run".to_owned(),
            format!("--user-data-dir={}", profile.display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let made = browser.ask("POST", "/session", &wanted);
        let id = made["sessionId"].as_str().unwrap().to_owned();
        browser.session += &format!("/session/{id}");
        Some(browser)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let mut options = vec!["--request", method];
        // A script may be longer than an argument.
        let from_file = format!("@{}", self.body.display());
        if method == "POST" {
            fs::write(&self.body, body.to_string()).unwrap();
            options.extend([
                "--header",
                "Content-Type: application/json",
                "--data-binary",
                &from_file,
            ]);
        }
        let reply = curl(&url, &options).with_status(200);
        reply.document()["value"].clone()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, body)
    }

    /// Opens a page, and waits until it is loaded.
    pub(crate) fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// Opens a file.
    pub(crate) fn open_file(&self, path: &str) {
        assert!(PathBuf::from(path).is_absolute());
        self.open(&format!("file://{path}"));
    }

    /// Returns the address of the page.
    pub(crate) fn address(&self) -> String {
        let address = self.ask("GET", "/url", &Value::Null);
        address.as_str().unwrap().to_owned()
    }

    /// Returns what a function body in JavaScript returns.
    pub(crate) fn script(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({"script": body, "args": []}))
    }

    /// Returns the text of the page, as it is shown.
    pub(crate) fn text(&self) -> String {
        let text = self.script("return document.body.innerText");
        text.as_str().unwrap().to_owned()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post(
            "/element",
            &json!({"using": "css selector", "value": selector}),
        );
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    /// Clicks on an element with the pointer.
    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/value"), &json!({"text": text}));
    }

    /// Moves the pointer onto the first element of a selector that nothing else covers at its
    /// centre: dots of a picture may lie behind one another.
    pub(crate) fn hover(&self, selector: &str) {
        let uncovered = format!(
            "return Array.from(document.querySelectorAll({selector:?})).find(element => {{
                element.scrollIntoView({{block: 'center', inline: 'center'}});
                const box = element.getBoundingClientRect();
                const top = document.elementFromPoint(
                    box.x + box.width / 2, box.y + box.height / 2);
                return element.contains(top);
            }})"
        );
        let element = self.script(&uncovered);
        assert!(
            element.is_object(),
            "everything that {selector} selects is covered: {element}"
        );
        let step = |x: i32| {
            json!({"type": "pointerMove", "duration": 0, "origin": element,
            "x": x, "y": 0})
        };
        let pointer = json!({"type": "pointer", "id": "mouse",
            "parameters": {"pointerType": "mouse"}, "actions": [step(0), step(1), step(0)]});
        self.post("/actions", &json!({"actions": [pointer]}));
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.post("/goog/cdp/execute", &body)
    }

    /// Makes the page so many pixels wide.
    pub(crate) fn width(&self, pixels: u32) {
        self.window(pixels, 800);
    }

    /// Makes the window so many pixels wide and high.
    pub(crate) fn window(&self, width: u32, height: u32) {
        let parameters = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 600});
        self.devtools("Emulation.setDeviceMetricsOverride", &parameters);
    }

    /// Says that the reader prefers `light` or `dark`, and looks at a `screen` or a `print`.
    pub(crate) fn media(&self, scheme: &str, media: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let parameters = json!({"media": media, "features": features});
        self.devtools("Emulation.setEmulatedMedia", &parameters);
    }

    /// Returns what the browser had to complain of since it was last asked.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().unwrap().iter();
        entries.map(Value::to_string).collect()
    }

    /// Returns what axe finds serious on the page.
    pub(crate) fn barriers(&self, axe: &str) -> Vec<String> {
        self.script(&format!("{axe};{AXE}"));
        let found = until("axe has looked at the page", || {
            let found = self.script("return window.serious ?? null");
            found.is_array().then_some(found)
        });
        let found = found.as_array().unwrap().iter();
        found.map(|it| it.as_str().unwrap().to_owned()).collect()
    }

    /// Returns the number of pictures of the page, and what is wrong with the tables behind them.
    pub(crate) fn tables(&self) -> (u64, Vec<String>) {
        let found = self.script(TABLES);
        let problems = found["problems"].as_array().unwrap().iter();
        let problems = problems.map(|it| it.as_str().unwrap().to_owned());
        (found["pictures"].as_u64().unwrap(), problems.collect())
    }

    /// Returns what is wrong with the page as a person would see it.
    pub(crate) fn problems(&self) -> Vec<String> {
        let found = self.script(PROBLEMS);
        let found = found.as_array().unwrap().iter();
        found.map(|it| it.as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends Chromium; curl would panic here.
        let mut end = Command::new("curl");
        end.args(["--silent", "--max-time", "20", "--noproxy", "*"]);
        end.args(["--request", "DELETE", &self.session]);
        let _ = end.stdout(Stdio::null()).status();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
