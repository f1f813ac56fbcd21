//! Resolves the words of the command line to CPUs and a memory policy on this machine.

use linux::mempolicy::Policy;
use linux::{Root, device_node};
use model::{CpuId, CpuSet, Id, IdSet, NodeId, NodeSet};

use super::choice::{Choice, Device, DeviceName, Universe};
use super::{BindError, Machine};

/// What is requested, in the words of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The CPUs.
    pub cpus: Option<CpuRequest>,
    /// The memory.
    pub memory: Option<MemoryRequest>,
    /// Whether lists refer to the whole machine, not to the cpuset of this process.
    pub whole_machine: bool,
}

/// Which CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuRequest {
    /// All CPUs of these nodes.
    OfNodes(Choice<NodeId>),
    /// These CPUs.
    These(Choice<CpuId>),
}

/// Which memory policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryRequest {
    /// These nodes only.
    Bind {
        /// The nodes.
        nodes: Choice<NodeId>,
        /// Whether the kernel may move pages among them.
        balancing: bool,
    },
    /// Page by page over these nodes.
    Interleave(Choice<NodeId>),
    /// The same, by the kernel's weights.
    WeightedInterleave(Choice<NodeId>),
    /// One node first.
    Preferred(Choice<NodeId>),
    /// Several nodes first.
    PreferredMany(Choice<NodeId>),
    /// On the node of the CPU that first touches it.
    Local,
}

impl MemoryRequest {
    fn nodes(&self) -> Option<&Choice<NodeId>> {
        match self {
            MemoryRequest::Bind { nodes, .. }
            | MemoryRequest::Interleave(nodes)
            | MemoryRequest::WeightedInterleave(nodes)
            | MemoryRequest::Preferred(nodes)
            | MemoryRequest::PreferredMany(nodes) => Some(nodes),
            MemoryRequest::Local => None,
        }
    }

    /// The command-line option.
    pub fn option(&self) -> &'static str {
        match self {
            MemoryRequest::Bind { .. } => "--membind",
            MemoryRequest::Interleave(_) => "--interleave",
            MemoryRequest::WeightedInterleave(_) => "--weighted-interleave",
            MemoryRequest::Preferred(_) => "--preferred",
            MemoryRequest::PreferredMany(_) => "--preferred-many",
            MemoryRequest::Local => "--localalloc",
        }
    }
}

/// What is requested, in ids of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Order {
    /// CPUs that may be used; `None` leaves them as inherited.
    pub cpus: Option<CpuSet>,
    /// The memory policy; `None` leaves it as inherited.
    pub policy: Option<Policy>,
    /// The option that requested the policy.
    pub policy_option: Option<&'static str>,
}

impl Order {
    /// Resolves a request on this machine.
    ///
    /// # Errors
    /// When a list is not valid here, or the cpuset forbids all of the memory.
    pub fn new(root: &Root, request: &Request, machine: &Machine) -> Result<Self, BindError> {
        let lists = Lists {
            root,
            request,
            machine,
        };
        let cpus = request
            .cpus
            .as_ref()
            .map(|request| lists.cpus(request))
            .transpose()?;
        let policy = request.memory.as_ref().map(|request| lists.policy(request));
        let order = Order {
            cpus,
            policy: policy.transpose()?,
            policy_option: request.memory.as_ref().map(MemoryRequest::option),
        };
        let (option, allowed) = (order.policy_option, &machine.nodes_allowed);
        match (order.memory_nodes(), option) {
            (Some(nodes), Some(option)) if nodes.is_disjoint(allowed) => {
                let (nodes, allowed) = (nodes.clone(), allowed.clone());
                Err(BindError::NodesForbidden {
                    option,
                    nodes,
                    allowed,
                })
            }
            _ => Ok(order),
        }
    }

    /// The nodes that the policy names.
    pub fn memory_nodes(&self) -> Option<NodeSet> {
        self.policy.as_ref().and_then(Policy::nodes)
    }
}

/// What is needed to read one list.
struct Lists<'a> {
    root: &'a Root,
    request: &'a Request,
    machine: &'a Machine,
}

impl Lists<'_> {
    fn cpus(&self, request: &CpuRequest) -> Result<CpuSet, BindError> {
        match request {
            CpuRequest::OfNodes(choice) => {
                let nodes = self.cpu_nodes(choice)?;
                Ok(self.machine.cpus_of(&nodes))
            }
            CpuRequest::These(choice) => {
                let existing = self.machine.cpus();
                let allowed = self.within(&self.machine.cpus_allowed, &existing);
                let universe = Universe {
                    noun: "online CPU",
                    existing: &existing,
                    all: allowed.clone(),
                    allowed: &allowed,
                };
                self.resolve("--physcpubind", choice, &universe, None)
            }
        }
    }

    fn cpu_nodes(&self, choice: &Choice<NodeId>) -> Result<NodeSet, BindError> {
        let other = self.request.memory.as_ref().and_then(MemoryRequest::nodes);
        let named = match (choice.is_same(), other) {
            (true, Some(other)) if !other.is_same() => {
                Some(self.memory_nodes("--cpunodebind", other)?)
            }
            _ => self.node_of_device("--cpunodebind", choice)?,
        };
        let cpu_nodes = self.machine.cpu_nodes();
        let near = self.machine.nodes_of(&self.machine.cpus_allowed);
        let universe = Universe {
            noun: "node",
            existing: &self.machine.nodes(),
            all: self.within(&near, &cpu_nodes),
            allowed: &self.within(&self.machine.nodes_allowed, &self.machine.nodes()),
        };
        let nodes = self.resolve("--cpunodebind", choice, &universe, named.as_ref())?;
        let without = nodes.difference(&cpu_nodes);
        match without.is_empty() {
            true => Ok(nodes),
            false => Err(BindError::NoCpus {
                nodes: without,
                cpu_nodes,
            }),
        }
    }

    fn policy(&self, request: &MemoryRequest) -> Result<Policy, BindError> {
        let Some(choice) = request.nodes() else {
            return Ok(Policy::Local);
        };
        let nodes = self.memory_nodes(request.option(), choice)?;
        Ok(match request {
            MemoryRequest::Bind {
                balancing: true, ..
            } => Policy::BindBalancing(nodes),
            MemoryRequest::Bind { .. } => Policy::Bind(nodes),
            MemoryRequest::Interleave(_) => Policy::Interleave(nodes),
            MemoryRequest::WeightedInterleave(_) => Policy::WeightedInterleave(nodes),
            MemoryRequest::PreferredMany(_) => Policy::PreferredMany(nodes),
            MemoryRequest::Local => Policy::Local,
            MemoryRequest::Preferred(_) => match nodes.as_slice() {
                [only] => Policy::Preferred(*only),
                _ => return Err(BindError::SeveralPreferred { nodes }),
            },
        })
    }

    fn memory_nodes(
        &self,
        option: &'static str,
        choice: &Choice<NodeId>,
    ) -> Result<NodeSet, BindError> {
        let named = match (choice.is_same(), &self.request.cpus) {
            (true, Some(CpuRequest::OfNodes(other))) if !other.is_same() => {
                Some(self.cpu_nodes(other)?)
            }
            _ => self.node_of_device(option, choice)?,
        };
        let memory_nodes = &self.machine.memory_nodes;
        let allowed = self.within(&self.machine.nodes_allowed, memory_nodes);
        let universe = Universe {
            noun: "node",
            existing: &self.machine.nodes(),
            all: allowed.clone(),
            allowed: &allowed,
        };
        let nodes = self.resolve(option, choice, &universe, named.as_ref())?;
        let without = nodes.difference(memory_nodes);
        match without.is_empty() {
            true => Ok(nodes),
            false => Err(BindError::NoMemory {
                option,
                nodes: without,
                memory_nodes: memory_nodes.clone(),
            }),
        }
    }

    /// The part of `all` that the process may use, or all of it for the whole machine.
    fn within<I: Id>(&self, allowed: &IdSet<I>, all: &IdSet<I>) -> IdSet<I> {
        match self.request.whole_machine {
            true => all.clone(),
            false => allowed.intersection(all),
        }
    }

    fn resolve<I: Id>(
        &self,
        option: &'static str,
        choice: &Choice<I>,
        universe: &Universe<'_, I>,
        named: Option<&IdSet<I>>,
    ) -> Result<IdSet<I>, BindError> {
        let resolved = choice.resolve(universe, named);
        resolved.map_err(|error| BindError::Choice { option, error })
    }

    fn node_of_device(
        &self,
        option: &'static str,
        choice: &Choice<NodeId>,
    ) -> Result<Option<NodeSet>, BindError> {
        let Some(device) = choice.device() else {
            return Ok(None);
        };
        let refused = |reason: String| BindError::Device {
            option,
            device: device.to_string(),
            reason,
        };
        match node_of(self.root, device) {
            Ok(Some(node)) => Ok(Some(NodeSet::of(node))),
            Ok(None) => Err(refused("the firmware reports no node for it".to_owned())),
            Err(error) => Err(refused(error.to_string())),
        }
    }
}

fn node_of(root: &Root, device: &Device) -> Result<Option<NodeId>, linux::Error> {
    match device.kind {
        DeviceName::Netdev => device_node::of_network_device(root, &device.name),
        DeviceName::Pci => device_node::of_pci_device(root, &device.name),
        DeviceName::Block | DeviceName::File => device_node::of_file(root, device.name.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linux::Root;
    use model::NodeId;

    use super::{CpuRequest, MemoryRequest, Order, Request};
    use crate::bind::{Choice, Machine};

    /// Nodes 0 and 1 with two CPUs each, 2 with memory only, 3 with CPUs only; the cpuset allows
    /// memory of 1 and 2, and CPUs 1-3 may be used.
    pub(super) fn machine() -> Machine {
        let cpus = [(0, "0-1"), (1, "2-3"), (2, ""), (3, "6")];
        Machine {
            cpus_by_node: BTreeMap::from(
                cpus.map(|(id, cpus)| (NodeId(id), cpus.parse().unwrap())),
            ),
            memory_nodes: "0-2".parse().unwrap(),
            cpus_allowed: "1-3".parse().unwrap(),
            nodes_allowed: "1-2".parse().unwrap(),
        }
    }

    fn nodes(text: &str) -> Choice<NodeId> {
        text.parse().unwrap()
    }

    fn check(request: Request, expected: Result<(&str, &str), &str>) {
        let found = Order::new(&Root::live(), &request, &machine());
        let found = found.map(|order| {
            let cpus = order.cpus.map(|cpus| cpus.to_string());
            let policy = order.policy.map(|policy| policy.words());
            (cpus.unwrap_or_default(), policy.unwrap_or_default())
        });
        match (&found, expected) {
            (Ok((cpus, policy)), Ok(expected)) => {
                assert_eq!((cpus.as_str(), policy.as_str()), expected, "{request:?}");
            }
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            _ => panic!("{request:?}: found {found:?}, expected {expected:?}"),
        }
    }

    fn cpus_of_nodes(text: &str) -> Request {
        Request {
            cpus: Some(CpuRequest::OfNodes(nodes(text))),
            ..Request::default()
        }
    }

    fn cpus(text: &str) -> Request {
        Request {
            cpus: Some(CpuRequest::These(text.parse().unwrap())),
            ..Request::default()
        }
    }

    fn memory(memory: MemoryRequest) -> Request {
        Request {
            memory: Some(memory),
            ..Request::default()
        }
    }

    #[test]
    fn cpus_are_those_of_nodes_or_named() {
        check(cpus_of_nodes("0"), Ok(("0-1", "")));
        check(cpus_of_nodes("0-1,3"), Ok(("0-3,6", "")));
        check(cpus_of_nodes("all"), Ok(("0-3", "")));
        check(cpus_of_nodes("!0"), Ok(("2-3", "")));
        check(cpus_of_nodes("+0"), Ok(("2-3", "")));
        check(
            cpus_of_nodes("2"),
            Err("no CPUs on node 2 (memory only); CPUs are on nodes 0-1,3"),
        );
        check(
            cpus_of_nodes("4"),
            Err("there is no node 4: this machine has 0-3"),
        );
        check(cpus_of_nodes("same"), Err("same refers to nothing"));
        check(cpus("0,6"), Ok(("0,6", "")));
        check(cpus("all"), Ok(("1-3", "")));
        check(cpus("+0-1"), Ok(("1-2", "")));
        check(
            cpus("5"),
            Err("there is no online CPU 5: this machine has 0-3,6"),
        );
        let all = Request {
            whole_machine: true,
            ..cpus("all")
        };
        check(all, Ok(("0-3,6", "")));
    }

    #[test]
    fn policies_are_in_the_words_of_the_kernel() {
        let bind = |text, balancing| {
            memory(MemoryRequest::Bind {
                nodes: nodes(text),
                balancing,
            })
        };
        check(bind("1", false), Ok(("", "bind:1")));
        check(bind("all", true), Ok(("", "bind=balancing:1-2")));
        check(
            memory(MemoryRequest::Interleave(nodes("+0-1"))),
            Ok(("", "interleave:1-2")),
        );
        check(
            memory(MemoryRequest::WeightedInterleave(nodes("!1"))),
            Ok(("", "weighted interleave:2")),
        );
        check(
            memory(MemoryRequest::Preferred(nodes("2"))),
            Ok(("", "prefer:2")),
        );
        check(
            memory(MemoryRequest::PreferredMany(nodes("1,2"))),
            Ok(("", "prefer (many):1-2")),
        );
        check(memory(MemoryRequest::Local), Ok(("", "local")));
        check(
            memory(MemoryRequest::Preferred(nodes("1-2"))),
            Err("--preferred takes one node, not 1-2 (2 nodes)"),
        );
        check(
            bind("3", false),
            Err("--membind: no memory on node 3; memory is on nodes 0-2"),
        );
        check(
            bind("0", false),
            Err("allows memory only on nodes 1-2, not on 0"),
        );
        // The kernel silently drops a part; so does this, and the lint reports it.
        check(bind("0-1", false), Ok(("", "bind:0-1")));
    }

    #[test]
    fn same_is_the_other_list() {
        let request = |cpus, memory| Request {
            cpus: Some(CpuRequest::OfNodes(nodes(cpus))),
            memory: Some(MemoryRequest::Bind {
                nodes: nodes(memory),
                balancing: false,
            }),
            whole_machine: false,
        };
        check(request("1", "same"), Ok(("2-3", "bind:1")));
        check(request("same", "1"), Ok(("2-3", "bind:1")));
        check(request("same", "same"), Err("same refers to nothing"));
        check(request("same", "2"), Err("no CPUs"));
    }

    #[test]
    fn a_device_without_a_node_is_refused() {
        let request = memory(MemoryRequest::Preferred(nodes("netdev:lo")));
        check(request, Err("netdev:lo: the firmware reports no node"));
    }
}
