//! Reports of Oracle: the tables printed in articles, and one sample of each layout.
//!
//! Those of articles 000 and 001 are as the articles print them, omissions included:
//! B. Drouvot, "Measure the impact of remote versus local NUMA node access thanks to
//! processor_group_name" (2015-01-07), two runs of 3 minutes each, and "cpu binding
//! (processor_group_name) vs Instance caging comparison during LIO pressure" (2015-01-15), averages
//! of three runs of 5 minutes. The samples of layouts are made up.

/// Article 000, CPUs and SGA on one node: two runs side by side.
pub const ARTICLE_000_LOCAL: &str = include_str!("../reports/article-000-local.txt");
/// Article 000, the SGA on the farthest node: two runs side by side.
pub const ARTICLE_000_REMOTE: &str = include_str!("../reports/article-000-remote.txt");
/// The five tests of article 001, in its order: neither bound nor caged; caged to 6 CPUs; bound to
/// 6 CPUs; bound to 9 CPUs and caged to 6; bound to 9 CPUs.
pub const ARTICLE_001: [&str; 5] = [
    include_str!("../reports/article-001-test1.txt"),
    include_str!("../reports/article-001-test2.txt"),
    include_str!("../reports/article-001-test3.txt"),
    include_str!("../reports/article-001-test4.txt"),
    include_str!("../reports/article-001-test5.txt"),
];
/// A sample of AWR in the format of release 11g.
pub const AWR_11G: &str = include_str!("../reports/awr-11g.txt");
/// A sample of AWR in the format of releases 12.2 to 23ai.
pub const AWR_19C: &str = include_str!("../reports/awr-19c.txt");
/// The sample of AWR of 11g as the HTML report of the same interval has it.
pub const AWR_11G_HTML: &str = include_str!("../reports/awr-11g.html");
/// The report of a pluggable database in HTML, in the format of release 12.2.
pub const AWR_12C_PDB_HTML: &str = include_str!("../reports/awr-12c.html");
/// The sample of AWR of 19c as the HTML report of the same interval has it.
pub const AWR_19C_HTML: &str = include_str!("../reports/awr-19c.html");
/// A sample of Statspack.
pub const STATSPACK_11G: &str = include_str!("../reports/statspack-11g.txt");
