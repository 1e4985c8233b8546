//! A kubeconfig as text, and what our own client makes of it.
//!
//! In: the server's address, the authority, an identity. Out: YAML that kubectl and client libraries read, with
//! everything embedded; a client configuration. Never here: files, requests.

use super::certificates::Identity;
use super::error::Error;
use base64::prelude::{BASE64_STANDARD, Engine};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

/// One cluster, one user, one context.
pub(super) fn kubeconfig(server: &str, authority: &str, identity: &Identity) -> String {
    format!(
        "\
apiVersion: v1
kind: Config
clusters:
  - name: kubewright-local
    cluster:
      server: {server}
      certificate-authority-data: {authority}
users:
  - name: kubewright-local
    user:
      client-certificate-data: {certificate}
      client-key-data: {key}
contexts:
  - name: kubewright-local
    context: {{cluster: kubewright-local, user: kubewright-local}}
current-context: kubewright-local
",
        authority = BASE64_STANDARD.encode(authority),
        certificate = BASE64_STANDARD.encode(&identity.certificate),
        key = BASE64_STANDARD.encode(&identity.key),
    )
}

/// The configuration that every client of ours starts from.
pub(super) async fn client_config(kubeconfig: &str) -> Result<Config, Error> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    // The library takes a proxy from the environment, for a loopback address too.
    config.proxy_url = None;
    // Its retries can hide minutes in one call.
    config.default_retry = false;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_plane::certificates::Authority;

    #[tokio::test]
    async fn a_client_reads_it_back_and_uses_neither_proxy_nor_retries() {
        let authority = Authority::new().expect("an authority");
        let identity = authority.client("admin", Some("system:masters")).expect("a client");
        let text = kubeconfig("https://127.0.0.1:6443", &authority.certificate, &identity);
        let config = client_config(&text).await.expect("a configuration");
        assert_eq!(config.cluster_url.to_string(), "https://127.0.0.1:6443/");
        assert_eq!(config.root_cert.map(|list| list.len()), Some(1));
        assert_eq!(
            config.auth_info.client_certificate_data,
            Some(BASE64_STANDARD.encode(&identity.certificate))
        );
        assert!(config.auth_info.client_key_data.is_some());
        assert_eq!(config.proxy_url, None);
        assert!(!config.default_retry);
    }
}
