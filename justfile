# What developers run; each recipe is one task of xtask/.

# Format, lints, tidy and unit tests: before each commit.
check:
    cargo xtask check

# Everything, guests included.
test *ARGUMENTS:
    cargo xtask test {{ARGUMENTS}}
