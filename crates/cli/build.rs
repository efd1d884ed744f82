//! Embeds the console (`apps/web`) in the binary. The files are packed with gzip and listed in `console.rs`, which `src/console` includes.
//!
//! Without the feature `console` it does nothing, so a program that embeds the server needs no Node.js. With it, the console is:
//!
//! - the folder that `HOLDPOINT_CONSOLE` names; `none` builds without the console;
//! - in a crate from a registry, the folder `dist` of the package;
//! - in a checkout, built with Node.js, so that one command makes a whole server.
//!
//! Where there is none of these, a page that says so stands in its place.

#[cfg(feature = "console")]
mod console {
    use std::{
        env, fs,
        io::Write as _,
        path::{Path, PathBuf},
        process::Command,
    };

    pub(super) type Failure = Box<dyn std::error::Error>;

    /// What `cargo xtask setup` goes by to know that the packages are those of the lock file.
    const STAMP: &str = "node_modules/.installed-from-lock";

    pub(super) fn embed() -> Result<(), Failure> {
        let out = PathBuf::from(env::var("OUT_DIR")?);
        let files = match built(&out)? {
            Some(folder) => pack(&folder, &out)?,
            None => Vec::new(),
        };
        let mut table = String::from("const FILES: &[File] = &[\n");
        for (name, packed) in files {
            table +=
                &format!("    File {{ path: {name:?}, gzip: include_bytes!({:?}) }},\n", packed.display().to_string());
        }
        fs::write(out.join("console.rs"), table + "];\n")?;
        Ok(())
    }

    /// The folder of the built console, or `None` where there can't be one.
    fn built(out: &Path) -> Result<Option<PathBuf>, Failure> {
        println!("cargo:rerun-if-changed=build.rs");
        println!("cargo:rerun-if-env-changed=HOLDPOINT_CONSOLE");
        match env::var("HOLDPOINT_CONSOLE").as_deref() {
            Ok("none") => return Ok(None),
            Ok(folder) => return Ok(Some(PathBuf::from(folder))),
            Err(_) => {}
        }
        let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
        let root = package.join("../..");
        let web = root.join("apps/web");
        // A checkout is known by the client beside it: what lies two folders above a package of a registry is not ours.
        if !web.join("package.json").is_file() || !root.join("packages/client").is_dir() {
            let packed = package.join("dist");
            return Ok(packed.join("index.html").is_file().then_some(packed));
        }
        for source in
            ["apps/web/src", "apps/web/public", "apps/web/index.html", "apps/web/vite.config.ts", "packages/client/src"]
        {
            println!("cargo:rerun-if-changed={}", root.join(source).display());
        }
        println!("cargo:rerun-if-changed={}", root.join("package-lock.json").display());
        if Command::new("node").arg("--version").output().is_err() {
            println!(
                "cargo:warning=there is no Node.js here: this build has no console. Install Node.js 20 or later and build again"
            );
            return Ok(None);
        }
        let is_first = !root.join("node_modules/vite").exists();
        if is_first {
            let lock = fs::read(root.join("package-lock.json"))?;
            run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&root))?;
            fs::write(root.join(STAMP), lock)?;
        }
        let folder = out.join("console");
        let vite = root.join("node_modules/vite/bin/vite.js");
        run(Command::new("node")
            .arg(vite)
            .args(["build", "--emptyOutDir", "--logLevel", "warn", "--outDir"])
            .arg(&folder)
            .current_dir(&web))?;
        if is_first {
            println!(
                "cargo:warning=the console is built. Compiling the server goes on: the first time about 7 minutes on two cores"
            );
        }
        Ok(Some(folder))
    }

    fn run(command: &mut Command) -> Result<(), Failure> {
        let ran = command.output().map_err(|error| format!("{command:?} could not be started: {error}"))?;
        if ran.status.success() {
            return Ok(());
        }
        let said = [ran.stdout, ran.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        Err(format!(
        "{command:?} failed:\n{said}\nThe console could not be built. `HOLDPOINT_CONSOLE=none` builds the server without it"
    )
    .into())
    }

    /// Packs every file of a folder: its path in the console, and where the packed one is.
    fn pack(folder: &Path, out: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
        let packed = out.join("packed");
        fs::create_dir_all(&packed)?;
        let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
                let target = packed.join(format!("{}.gz", name.replace('/', "_")));
                let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                gzip.write_all(&fs::read(&path)?)?;
                fs::write(&target, gzip.finish()?)?;
                found.push((name, target));
            }
        }
        found.sort();
        Ok(found)
    }
}

#[cfg(feature = "console")]
fn main() -> Result<(), console::Failure> {
    console::embed()
}

#[cfg(not(feature = "console"))]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
