package org.apache.curator.framework.imps;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * Shows on Curator itself what the bundled lock curator shows in simulation. A protected create whose
 * connection is lost twice, before and after the search for its node, returns null; its node stays.
 * Curator's own switches for tests lose the connection.
 *
 * <p>With Curator 5.4.0 on ZooKeeper 3.8.0 it prints that acquire throws an exception, that the node
 * is there, and that the next acquire waits for it in vain. The same holds for its master branch of
 * July 2026.
 */
public class NestedRetryLoop {
    public static void main(String[] args) throws Exception {
        var directory = Files.createTempDirectory("zookeeper").toFile();
        var factory = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        factory.startup(new ZooKeeperServer(directory, directory, 2000));
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                "127.0.0.1:" + factory.getLocalPort(), new ExponentialBackoffRetry(100, 3))) {
            client.start();
            var mutex = new InterProcessMutex(client, "/mutex", new StandardLockInternalsDriver() {
                private boolean first = true;

                @Override
                public String createsTheLock(CuratorFramework c, String path, byte[] data)
                        throws Exception {
                    var create = (CreateBuilderImpl) c.create();
                    create.failBeforeNextCreateForTesting = create.failNextCreateForTesting = first;
                    first = false;
                    return create.creatingParentContainersIfNeeded()
                            .withProtection()
                            .withMode(CreateMode.EPHEMERAL_SEQUENTIAL)
                            .forPath(path);
                }
            });
            for (int attempt = 1; attempt <= 2; attempt++) {
                try {
                    System.out.println("acquire: " + mutex.acquire(5, TimeUnit.SECONDS));
                } catch (Exception e) {
                    System.out.println("acquire: " + e);
                }
                System.out.println("nodes: " + client.getChildren().forPath("/mutex"));
            }
        }
        System.exit(0);
    }
}
