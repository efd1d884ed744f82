//! Debian packages.

use crate::failure::{Failure, Result};
use crate::process::Run;

/// `apt-get`, which updates its package lists once, before the first installation.
#[derive(Default)]
pub(super) struct Apt {
    updated: bool,
}

impl Apt {
    /// Installs packages, through `sudo` for anyone but root.
    pub(super) fn install(&mut self, packages: &[&str]) -> Result {
        let names = packages.join(" ");
        if Run::new("apt-get").args(["--version"]).output().is_err() {
            return Err(Failure::new(format!(
                "this system has no apt-get. Install what Debian calls `{names}` with its own package manager"
            )));
        }
        let root = Run::new("id").args(["-u"]).output()?.trim() == "0";
        let cannot = |failure: Failure| {
            Failure::new(format!("{failure}. To install it by hand: `apt-get install {names}` as root"))
        };
        if !self.updated {
            apt(root, &["update"]).show_and_wait().map_err(cannot)?;
            self.updated = true;
        }
        apt(root, &["install", "-y", "--no-install-recommends"]).args(packages).show_and_wait().map_err(cannot)
    }
}

fn apt(root: bool, args: &[&str]) -> Run {
    // `env` comes after sudo because sudo drops the environment.
    let command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    let run = if root { Run::new(command[0]) } else { Run::new("sudo").args([command[0]]) };
    run.args(&command[1..]).args(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anyone_but_root_goes_through_sudo() {
        assert_eq!(apt(true, &["update"]).shown(), "env DEBIAN_FRONTEND=noninteractive apt-get update");
        assert_eq!(apt(false, &["update"]).shown(), "sudo env DEBIAN_FRONTEND=noninteractive apt-get update");
    }
}
