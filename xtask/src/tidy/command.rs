//! `cargo xtask tidy`: reads the repository and applies every rule.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use super::cycles::Crates;
use super::finding::Finding;
use super::project::{Project, SourceFile};
use super::{
    layer_table, layers, links, lints, manifest, markers, named_tests, names, own_doors,
    silent_returns, sizes, tested_crates,
};
use crate::repository;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Runs the task.
pub(crate) fn run() -> Result<ExitCode> {
    Ok(match print_findings()? {
        0 => ExitCode::SUCCESS,
        count => {
            eprintln!("tidy: {count} findings");
            ExitCode::FAILURE
        }
    })
}

/// Prints the findings of the rules, and returns their number.
pub(crate) fn print_findings() -> Result<usize> {
    let mut findings = check(&Project::read(&repository::root())?);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.len())
}

fn check(project: &Project) -> Vec<Finding> {
    let mut findings = check_layers(project);
    findings.extend(project.manifests().flat_map(manifest::check_reasons));
    findings.extend(project.files.iter().flat_map(markers::check));
    findings.extend(project.files.iter().flat_map(check_text));
    findings.extend(check_rust(project));
    findings.extend(named_tests::check(project));
    findings.extend(tested_crates::check(project));
    findings
}

fn check_layers(project: &Project) -> Vec<Finding> {
    let path = Path::new(ARCHITECTURE);
    let Some(architecture) = project.file(ARCHITECTURE) else {
        return vec![Finding::new(
            path,
            1,
            "layers",
            "the file is missing; it has the layers",
        )];
    };
    let (table, problems) = layer_table::parse(&architecture.text);
    let problems = problems.into_iter();
    let mut findings: Vec<_> = problems
        .map(|(line, problem)| Finding::new(path, line, "layers", problem))
        .collect();
    let manifests: Vec<_> = project.manifests().collect();
    findings.extend(layers::check(path, &table, &manifests));
    findings.extend(lints::check_unsafe(
        &table,
        &project.rust_files().collect::<Vec<_>>(),
    ));
    findings
}

/// Applies the rules about lines, whatever the language.
fn check_text(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.has_extension("rs") || file.path.ends_with("Cargo.toml") {
        findings.extend(lints::check_printing(file));
    }
    if file.has_extension("rs") || file.has_extension("sh") {
        findings.extend(sizes::check_lines(file));
    }
    findings
}

/// Applies the rules about the structure of Rust files.
fn check_rust(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut crates = Crates::default();
    for file in project.rust_files() {
        match syn::parse_file(&file.text) {
            Ok(parsed) => {
                findings.extend(names::check(file, &parsed));
                findings.extend(own_doors::check(file, &parsed));
                findings.extend(silent_returns::check(file, &parsed));
                findings.extend(sizes::check_file(file, &parsed));
                crates.add(file, &parsed);
            }
            Err(error) => {
                let line = error.span().start().line;
                let message = format!("cannot be parsed: {error}");
                findings.push(Finding::new(&file.path, line, "syntax", message));
            }
        }
    }
    findings.extend(crates.check());
    let documents = project.files.iter().filter(|file| file.has_extension("md"));
    findings.extend(documents.flat_map(|file| links::check(file, project)));
    findings
}
