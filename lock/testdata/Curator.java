import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** Performs locks of Apache Curator for the benchmarks: see rival_test.go. */
public class Curator {
    private static final List<InterProcessMutex> locks = new ArrayList<>();
    private static ExecutorService threads;

    /** Arguments: address, path of the lock, number of contenders. */
    public static void main(String[] arguments) throws Exception {
        int contenders = Integer.parseInt(arguments[2]);
        for (int i = 0; i < contenders; i++) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(arguments[0], 30_000,
                    30_000, new RetryOneTime(1000));
            client.start();
            client.blockUntilConnected();
            locks.add(new InterProcessMutex(client, arguments[1]));
        }
        threads = Executors.newFixedThreadPool(contenders);
        System.out.println("ready");
        List<Future<Void>> waiters = null;
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            long began = System.nanoTime();
            if (line.equals("queue")) {
                locks.get(0).acquire();
                waiters = start(locks.subList(1, contenders), new AtomicLong(contenders - 1), 1);
            } else if (line.equals("drain")) {
                locks.get(0).release();
                await(waiters);
            } else {
                await(start(locks, new AtomicLong(Long.parseLong(line)), Long.MAX_VALUE));
            }
            System.out.println(System.nanoTime() - began);
        }
        System.exit(0);
    }

    /** Starts contenders. Each takes the lock until none is left to take, at most max times. */
    private static List<Future<Void>> start(List<InterProcessMutex> contenders, AtomicLong left,
            long max) {
        List<Future<Void>> started = new ArrayList<>();
        for (InterProcessMutex lock : contenders) {
            started.add(threads.submit((Callable<Void>) () -> {
                for (long i = 0; i < max && left.getAndDecrement() > 0; i++) {
                    lock.acquire();
                    lock.release();
                }
                return null;
            }));
        }
        return started;
    }

    private static void await(List<Future<Void>> started) throws Exception {
        for (Future<Void> one : started) {
            one.get();
        }
    }
}
