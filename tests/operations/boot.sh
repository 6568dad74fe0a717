#!/bin/sh
# Boot systemd on a copy of this machine's file system, as `unshare` with namespaces of its own calls it. All changes
# are in memory: an overlay over `/` takes them. Argument: an empty folder.
set -eu
folder=$1
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/changes" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" "$folder/root"
cd "$folder/root"

mount -t proc proc proc
mount --bind proc/sys proc/sys  # the settings of the kernel, which this machine shares
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp

ip link set lo up
mkdir run/before
pivot_root . run/before
umount -l run/before
exec env -i container=other /lib/systemd/systemd --unit=basic.target --log-target=journal
