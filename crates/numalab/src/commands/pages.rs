//! `numalab pages`: huge-page pools by node and size, and the memory policy of a tmpfs.

use clap::Args;
use linux::Root;
use model::exit::ExitCode;
use model::{ByteSize, NodeId, NodeSet, PoolChange, PoolOfNode, Topology, node_words};
use placement::pool_reservations::{holders, reserved};
use placement::{Destination, mount_policy, pools};
use report::{NeedsDocument, TextOptions};
use serde_json::json;

use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::output;

/// Options of `numalab pages`.
#[derive(Debug, Args)]
pub(crate) struct PagesArguments {
    /// Set the pools of these nodes (a node, a range or `all`) to this many pages each. `numalab
    /// undo` restores them.
    #[arg(
        long,
        value_name = "NODE=COUNT,…",
        conflicts_with = "sga",
        value_delimiter = ','
    )]
    pub set: Vec<String>,
    /// Huge-page size, such as 2M or 1G [default: the kernel's default size].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<ByteSize>,
    /// Compute how many pages an SGA of this size needs on each node.
    #[arg(long = "for", value_name = "SGA_BYTES")]
    pub sga: Option<ByteSize>,
    /// Placement of that SGA: interleave, interleave=0-3, a node, spread or spread=0:2,1:1.
    #[arg(long, value_name = "PLACEMENT", default_value = "interleave")]
    pub placement: Destination,
    /// Show the memory policy of the tmpfs mounted at this path.
    #[arg(long, value_name = "MOUNT", conflicts_with_all = ["set", "sga", "size"])]
    pub tmpfs: Option<String>,
    /// With --tmpfs: set the policy for new files: interleave:0-3, bind:0, prefer:1 or local.
    #[arg(long, value_name = "POLICY", requires = "tmpfs")]
    pub mpol: Option<String>,
    /// Print JSON (numalab.pages/1; numalab.tmpfs/1 with --tmpfs).
    #[arg(long)]
    pub json: bool,
}

/// Shows, sets or computes huge-page pools, or shows or sets the policy of a tmpfs.
pub(crate) fn run(arguments: &PagesArguments) -> Result<(), Failure> {
    let root = Root::live();
    if let Some(mount_point) = &arguments.tmpfs {
        return tmpfs(&root, mount_point, arguments);
    }
    let topology = topology::read(&root)?;
    let page_bytes = || page_bytes(&topology, arguments.size);
    let mut changes = Vec::new();
    if !arguments.set.is_empty() {
        let wanted = wanted(&topology, page_bytes()?, &arguments.set)?;
        let journal = StateFolder::from_environment()?.journal();
        for (node, count) in wanted {
            let set = pools::set(&journal, node, page_bytes()?, count);
            changes.push(set.map_err(|error| refused(error.into()))?);
        }
    }
    let topology = topology::read(&root)?;
    let pools = pools::of_machine(&root, &topology)?;
    let reservations = holders(&root, &reserved(&root)?)?;
    let mut needs = None;
    if let Some(sga) = arguments.sga {
        let page_bytes = page_bytes()?;
        let usage = |reason| Failure::new(ExitCode::Usage, format!("--placement: {reason}"));
        let nodes = NodeSet::default();
        let pattern = arguments
            .placement
            .pattern(&topology, &nodes)
            .map_err(usage)?;
        needs = Some((
            sga.0,
            page_bytes,
            pools::needed(&pools, page_bytes, sga.0, &pattern),
        ));
    }
    let placement = arguments.placement.to_string();
    let needs = needs
        .as_ref()
        .map(|(sga_bytes, page_bytes, nodes)| NeedsDocument {
            sga_bytes: *sga_bytes,
            page_bytes: *page_bytes,
            placement: &placement,
            nodes,
            command: report::pool_needs_command(nodes, *page_bytes),
        });
    if arguments.json {
        output::json(&report::pages_document(
            &pools,
            &reservations,
            &changes,
            needs,
        ))?;
    } else {
        let options = output::text_options();
        let text = text(&pools, &changes, needs.as_ref(), &options);
        let reserved = report::reservations_text(&pools, &reservations, &options);
        output::data(&(text + &reserved))?;
    }
    conclusion(&changes, &pools)
}

fn text(
    pools: &[PoolOfNode],
    changes: &[PoolChange],
    needs: Option<&NeedsDocument<'_>>,
    options: &TextOptions,
) -> String {
    match needs {
        Some(needs) => report::pool_needs_text(needs, options),
        None => {
            let changes = report::pool_changes_text(changes, pools, options);
            changes + &report::pools_text(pools, options)
        }
    }
}

/// Fails if a pool did not reach the requested size.
fn conclusion(changes: &[PoolChange], pools: &[PoolOfNode]) -> Result<(), Failure> {
    let short = changes.iter().find(|change| change.reached < change.asked);
    let Some(short) = short else {
        return Ok(());
    };
    let message = report::pool_change_sentence(short, pools);
    let advice = "free memory on the node, or reserve the pages at boot (hugepages= on the kernel \
                  command line); `numalab undo` restores the old pool";
    Err(Failure::new(ExitCode::MachineCannot, message).advise(advice))
}

/// Returns the requested huge-page size, or the default; the kernel must have it.
fn page_bytes(topology: &Topology, size: Option<ByteSize>) -> Result<u64, Failure> {
    let pools = &topology.huge_pages;
    let known: Vec<String> = pools
        .iter()
        .map(|it| ByteSize(it.page_bytes).to_string())
        .collect();
    let none = || {
        Failure::new(
            ExitCode::MachineCannot,
            "this kernel does not support huge pages",
        )
    };
    let Some(size) = size else {
        let default = pools.iter().find(|pool| pool.is_default == Some(true));
        return default
            .or(pools.first())
            .map(|it| it.page_bytes)
            .ok_or_else(none);
    };
    let found = pools.iter().find(|pool| pool.page_bytes == size.0);
    found
        .map(|pool| pool.page_bytes)
        .ok_or_else(|| match known.is_empty() {
            true => none(),
            false => {
                let known = known.join(" and ");
                let message =
                    format!("this kernel does not support huge pages of {size}, only of {known}");
                Failure::new(ExitCode::Usage, message)
            }
        })
}

/// Parses `0=1000`, `0-3=500`, `all=100`.
fn wanted(
    topology: &Topology,
    page_bytes: u64,
    words: &[String],
) -> Result<Vec<(NodeId, u64)>, Failure> {
    let mut wanted: Vec<(NodeId, u64)> = Vec::new();
    for word in words {
        let usage = |reason: &str| {
            let message = format!("--set {word}: {reason}");
            Failure::new(ExitCode::Usage, message).advise("use the form --set 0=1000,1=1000")
        };
        let (nodes, count) = word
            .split_once('=')
            .ok_or_else(|| usage("expected a node and a number of pages"))?;
        let nodes: NodeSet = match nodes {
            "all" => topology.memory_nodes(),
            list => list
                .parse()
                .map_err(|_| usage("expected a node such as 0, or 0-3, or all"))?,
        };
        if nodes.is_empty() {
            return Err(usage("no node is named"));
        }
        let count: u64 = count
            .parse()
            .map_err(|_| usage("expected a number of pages"))?;
        for node in &nodes {
            let all = topology.node_ids();
            let there = topology.node(node);
            let there = there.ok_or_else(|| {
                usage(&format!(
                    "there is no node {node}: this machine has {}",
                    node_words(all)
                ))
            })?;
            let memory = there.memory_bytes.unwrap_or(u64::MAX);
            if count
                .checked_mul(page_bytes)
                .is_none_or(|bytes| bytes > memory)
            {
                let (pages, memory) = (ByteSize(page_bytes), ByteSize(memory));
                return Err(usage(&format!(
                    "{count} pages of {pages} exceed the {memory} of node {node}"
                )));
            }
            if wanted.iter().any(|(other, _)| *other == node) {
                return Err(usage(&format!("node {node} is named twice")));
            }
            wanted.push((node, count));
        }
    }
    Ok(wanted)
}

fn tmpfs(root: &Root, mount_point: &str, arguments: &PagesArguments) -> Result<(), Failure> {
    let find = || -> Result<_, Failure> {
        mount_policy::at(root, mount_point)?.ok_or_else(|| {
            let message = format!("no tmpfs is mounted at {mount_point}");
            let advice = "list the mounted ones: findmnt -t tmpfs";
            Failure::new(ExitCode::Usage, message).advise(advice)
        })
    };
    let mount = find()?;
    let mut text = String::new();
    if let Some(policy) = &arguments.mpol {
        let journal = StateFolder::from_environment()?.journal();
        let set = mount_policy::set(&journal, &mount, policy);
        if !set.map_err(|error| refused_policy(policy, error))? {
            text.push_str("as before: ");
        }
    }
    let mount = find()?;
    if arguments.json {
        let (policy, size) = (&mount.policy, &mount.size);
        let document = json!({
            "format": "numalab.tmpfs/1", "mount_point": mount_point, "policy": policy, "size": size
        });
        return output::json(&document);
    }
    let policy = mount
        .policy
        .as_deref()
        .unwrap_or("none (the policy of each process applies)");
    text.push_str(&format!("{mount_point}: memory policy {policy}\n"));
    output::data(&text)
}

fn refused_policy(policy: &str, error: journal::Error) -> Failure {
    match &error {
        journal::Error::SystemCall(call) if call.errno() == Some(22) => {
            let message = format!("the kernel rejects the policy {policy:?}: {error}");
            let advice = "use interleave:NODES, bind:NODES, prefer:NODE or local, with nodes that \
                          have memory";
            Failure::new(ExitCode::Usage, message).advise(advice)
        }
        _ => refused(error.into()),
    }
}

fn refused(failure: Failure) -> Failure {
    match failure.exit_code {
        ExitCode::NotPermitted if failure.advice.is_none() => {
            failure.advise("run it as root; in a container, on the host")
        }
        _ => failure,
    }
}
