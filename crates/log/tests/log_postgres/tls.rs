//! `sslmode`, against a server with a certificate of its own authority.

use std::{fs, process::Command};

use holdpoint_log::{Log, PostgresError, PostgresLog, PostgresOptions};
use holdpoint_testkit::{Postgres, log_suite::append};

use super::*;

async fn try_with(server: &Postgres, parameters: &str) -> Result<(), PostgresError> {
    let mut options = PostgresOptions::new(format!("{}?{parameters}", server.url("postgres")));
    options.schema = Some(Postgres::fresh_name());
    let log = PostgresLog::open(options).await?;
    assert_eq!(log.append_many(vec![append("chat", 0, 1)]).await, [committed(1)]);
    Ok(())
}

/// How many of the server's connections are encrypted.
fn encrypted(server: &Postgres) -> String {
    server.sql("postgres", "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'holdpoint'")
}

/// A key and a certificate for a name, signed by itself.
fn certificate(folder: &std::path::Path, name: &str) {
    let made = Command::new("openssl")
        .current_dir(folder)
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-keyout", &format!("{name}.key"), "-out", &format!("{name}.crt"), "-subj", &format!("/CN={name}")])
        .args(["-addext", &format!("subjectAltName=DNS:{name}"), "-addext", "basicConstraints=critical,CA:FALSE"])
        .output()
        .expect("openssl is there: Debian's postgresql needs it");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls() {
    let server = Postgres::shared();
    for parameters in ["sslmode=disable", "sslmode=prefer", ""] {
        try_with(server, parameters).await.expect(parameters);
    }
    for parameters in ["sslmode=require", "sslmode=verify-full"] {
        let error = try_with(server, parameters).await.expect_err(parameters);
        assert!(matches!(error, PostgresError::Tls { .. }), "{parameters}: {error:?}");
        assert!(error.to_string().contains("Correct sslmode or sslrootcert"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_tls() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["localhost", "elsewhere"] {
        certificate(folder.path(), name);
    }
    let server = Postgres::start(&[]);
    for (name, file) in [("server.crt", "localhost.crt"), ("server.key", "localhost.key")] {
        server.install(name, &fs::read(folder.path().join(file)).expect("it was made"));
    }
    server.sql("postgres", "ALTER SYSTEM SET ssl = on");
    block_in_place(|| server.crash());
    block_in_place(|| server.resume_after_stop());
    let authority = |name: &str| format!("sslrootcert={}", folder.path().join(name).display());
    let (known, other) = (authority("localhost.crt"), authority("elsewhere.crt"));

    let keep = PostgresLog::open(PostgresOptions::new(format!("{}?sslmode=prefer", server.url("postgres"))))
        .await
        .expect("it opens");
    keep.append_many(vec![append("chat", 0, 1)]).await;
    assert_ne!(encrypted(&server), "0", "prefer encrypts if it can");
    for parameters in ["sslmode=disable".to_owned(), "sslmode=require".to_owned(), format!("sslmode=verify-ca&{known}")]
    {
        try_with(&server, &parameters).await.expect(&parameters);
    }
    for parameters in [
        format!("sslmode=verify-ca&{other}"),
        format!("sslmode=require&{other}"),
        "sslmode=verify-full".to_owned(),
        // The certificate is for localhost, and the URL says 127.0.0.1.
        format!("sslmode=verify-full&{known}"),
    ] {
        let error = try_with(&server, &parameters).await.expect_err(&parameters);
        assert!(matches!(error, PostgresError::Tls { .. }), "{parameters}: {error:?}");
    }
    let by_name = server.url("postgres").replace("127.0.0.1", "localhost");
    let options = PostgresOptions::new(format!("{by_name}?sslmode=verify-full&hostaddr=127.0.0.1&{known}"));
    PostgresLog::open(options).await.expect("the name and the certificate are right");
    let error = try_with(&server, "sslmode=verify-ca&sslrootcert=/no/such/file").await.expect_err("no file");
    assert!(matches!(error, PostgresError::Certificates { .. }), "{error:?}");
}
